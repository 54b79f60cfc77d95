// The studio's own script: sliders that move with their number, and a word while a file is copied. No data pass through it.
"use strict";

function connect(slider) {
  const field = document.getElementById(slider.dataset.pair);
  if (!field) return;
  const toField = (place) => Number(Math.pow(10, Number(place)).toPrecision(2));
  const toSlider = () => {
    const value = Number(field.value);
    if (value > 0) slider.value = String(Math.log10(value));
    slider.setAttribute("aria-valuetext", field.value);
  };
  slider.addEventListener("input", (event) => {
    event.stopPropagation();
    field.value = String(toField(slider.value));
    slider.setAttribute("aria-valuetext", field.value);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
  field.addEventListener("input", toSlider);
  toSlider();
}

for (const slider of document.querySelectorAll("input[data-pair]")) connect(slider);

for (const form of document.querySelectorAll("form[data-upload]")) {
  form.addEventListener("submit", () => {
    const word = form.querySelector("[data-uploading]");
    if (word) word.hidden = false;
  });
}

"""Who gets in, and what every page forbids."""

import os
import re
import socket
import subprocess
import sys
import threading

import pytest
from tests.studio.conftest import HOST, Browser

from dprap.studio.gate import POLICY
from dprap.studio.peer import is_other_user, user_of
from dprap.studio.routes import _PAGES


def test_without_the_cookie_every_address_is_refused(tmp_path):
    browser = Browser(tmp_path, known=False)
    paths = [path for _, path, _ in _PAGES] + ["/upload", "/static/studio.css"]
    for path in paths:
        for method in ("GET", "POST"):
            answered = browser.client.request(method, re.sub(r"\{.*?\}", "1", path))
            assert answered.status_code == 403, (method, path)
            assert "set-cookie" not in answered.headers


def test_the_token_works_once_and_the_cookie_stays(tmp_path):
    browser = Browser(tmp_path, known=False)
    token = browser.keys.token
    entered = browser.client.get(f"/?token={token}", follow_redirects=False)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert browser.client.get("/").status_code == 200
    assert browser.new_client().get(f"/?token={token}").status_code == 403
    # the next one
    assert browser.new_client().get(f"/?token={browser.keys.token}").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8123", "127.0.0.1:9999", "localhost", "", "[::1]:8123"]
)
def test_another_host_is_refused(browser, host):
    assert browser.get("/", headers={"host": host}).status_code == 403
    assert browser.get(f"/?token={browser.keys.token}", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine
        {"sec-fetch-site": "none"},
    ],
)
def test_a_form_from_another_page_is_refused(browser, headers):
    assert browser.post("/example", headers=headers).status_code == 403
    assert not (browser.folder / "example").exists()


def test_a_page_elsewhere_may_link_here_and_not_fetch(browser):
    fetched = {
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "no-cors",
        "sec-fetch-dest": "script",
    }
    framed = {
        "sec-fetch-site": "same-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "iframe",
    }
    linked = {
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
    }
    assert browser.get("/", headers=fetched).status_code == 403
    assert browser.get("/", headers=framed).status_code == 403
    assert browser.get("/", headers=linked).status_code == 200


@pytest.mark.parametrize("token", ["", "x", "ü"])
def test_a_form_without_its_token_does_nothing(browser, token):
    assert browser.post("/example", token=token).status_code == 403
    assert (
        browser.client.post("/example", json={"csrf": browser.keys.form_token()}).status_code == 403
    )
    assert browser.upload("a.csv", b"a\n1\n", token=token).status_code == 403
    assert [path.name for path in browser.folder.iterdir()] == [".dprap-studio"]


def test_a_file_before_the_token_is_refused_unwritten(browser):
    body = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\na\r\n1\r\n'
        b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n'
        + browser.keys.form_token().encode()
        + b"\r\n--x--\r\n"
    )
    kind = {"content-type": "multipart/form-data; boundary=x"}
    assert browser.client.post("/upload", content=body, headers=kind).status_code == 403
    assert [path.name for path in browser.folder.iterdir()] == [".dprap-studio"]


def test_every_response_forbids_framing_caching_and_foreign_content(browser):
    for path, status in (
        ("/", 200),
        ("/nowhere", 404),
        ("/table/0/plan", 404),
        ("/static/htmx.min.js", 200),
    ):
        answered = browser.get(path)
        assert answered.status_code == status
        assert answered.headers["content-security-policy"] == POLICY
        assert answered.headers["x-frame-options"] == "DENY"
        assert answered.headers["x-content-type-options"] == "nosniff"
        assert answered.headers["cross-origin-resource-policy"] == "same-origin"
        if not path.startswith("/static"):
            assert answered.headers["cache-control"] == "no-store"
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_the_kernel_tells_whose_a_connection_is():
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
        with socket.create_connection(place) as mine:
            if sys.platform == "linux":
                assert user_of(mine.getsockname(), place) == os.getuid()
            assert not is_other_user(mine.getsockname(), place)


@pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0,
    reason="needs to become another user: root on Linux",
)
def test_another_user_of_this_machine_is_refused_whatever_they_bring():
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
        found = []

        def accept():
            connection, client = server.accept()
            found.append(is_other_user(client, place))
            connection.close()

        waiting = threading.Thread(target=accept)
        waiting.start()
        program = f"exec 3<>/dev/tcp/{place[0]}/{place[1]}; cat <&3"
        subprocess.run(["bash", "-c", program], user=65534, check=True, timeout=20, cwd="/")
        waiting.join(20)
    assert found == [True]

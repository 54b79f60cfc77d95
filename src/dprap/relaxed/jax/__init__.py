"""What JAX compiles: the fits of the methods rap and rap++. Import when used.

start       random rows, and rows spread over devices
layout      column blocks of different sizes, laid out for one loop
sparsemax   sparsemax and softmax of every column block
tied        codes of a column with one probability, carried as one number
queries     selected single queries as index arrays, with derivatives
optimizer   momentum whose step follows the largest gradient
projection  `fit_queries`: rows fitted to selected queries
compiled_loop  the compiled loop of that fit
families    `fit_families`: rows fitted to all answers of whole families
mixed       `fit_mixed`: rows with real coordinates beside one-hot blocks, fitted by annealing
"""

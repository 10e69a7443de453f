# A tiny regression: the step is so short that everything around the layers shows.
using Flux

model = Chain(Dense(10 => 20, relu), Dense(20 => 1))

loss(m, x, y) = Flux.mse(m(x), y)
optimiser = Adam(0.01)
data = Random(10; target_shape = 1, samples = 4096, batchsize = 64)
seed = 1
steps = 500

# The same layer twice: first as a plain triple loop, then from the library. Compare their rows in the layer table.
using Flux

model = Chain(
    input   = Dense(128 => 128),
    naive   = NaiveDense(128 => 256, relu),
    back    = Dense(256 => 128),
    library = Dense(128 => 256, relu),
    output  = Dense(256 => 10),
)

loss = mse
optimiser = Descent(0.01)
data = Random(128; target_shape = 10, samples = 4096, batchsize = 64)
seed = 1
steps = 100

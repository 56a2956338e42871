"""jax_work.py: a jitted function, repeatedly."""
import jax
import jax.numpy as jnp


@jax.jit
def f(x):
    return jnp.tanh(x @ x.T).sum()


x = jnp.ones((512, 512))
for _ in range(10):
    y = f(x).block_until_ready()
if jax.default_backend() != "gpu":
    raise SystemExit("JAX has no GPU backend here")
print("sum", float(y))

"""All scenarios by name, with the cycles that the quick set and the long one give them."""

from functools import partial

from . import kills


class Scenario:
    def __init__(self, body, quick, long, text):
        self.body, self.quick, self.long, self.text = body, quick, long, text


ALL = {
    "kill-random": Scenario(kills.kill_random, 12, 1000, "kill -9 at any moment"),
    "kill-in-recovery": Scenario(kills.kill_in_recovery, 10, 500, "a second kill within 200 ms of the start"),
    "power-loss": Scenario(kills.power_loss, 5, 400, "unsynced writes lost, in part or whole, or garbled"),
}
for step in kills.NAMED:
    ALL[f"kill-step:{step}"] = Scenario(partial(kills.kill_step, step=step), 1, 100, f"kill -9 at {step}")

# floats: 73 flop, 104 B moved, at most 56 B of memory
# for rates of shape (4,), state of shape (2,)
def predator_value_and_grad(rates, state):
    rates0, rates1, rates2, rates3 = rates.tolist()
    prey, hunters = state.tolist()
    met = prey * hunters                    # golden_functions.py:47
    change0 = rates0 * prey - rates1 * met  # golden_functions.py:48
    change1 = rates2 * met - rates3 * hunters
    state0 = prey + 0.02 * change0          # golden_functions.py:49
    state1 = hunters + 0.02 * change1
    met2 = state0 * state1
    change0 = rates0 * state0 - rates1 * met2
    change1 = rates2 * met2 - rates3 * state1
    state0_2 = state0 + 0.02 * change0
    state1_2 = state1 + 0.02 * change1

    d_prey = 2.0 * state0_2                 # golden_functions.py:50
    d_hunters = 2.0 * state1_2
    d_change0 = 0.04 * state0_2             # golden_functions.py:49
    d_change1 = 0.04 * state1_2
    d_met = d_change1 * rates2 - d_change0 * rates1  # golden_functions.py:48
    d_prey2 = d_met * state1 + d_change0 * rates0  # golden_functions.py:47
    d_hunters2 = d_met * state0 - d_change1 * rates3
    d_prey += d_prey2                       # golden_functions.py:46
    d_hunters += d_hunters2
    d_change0_2 = 0.02 * d_prey
    d_change1_2 = 0.02 * d_hunters
    d_rates2 = d_change1 * met2 + d_change1_2 * met
    d_rates3 = -(d_change1 * state1 + d_change1_2 * hunters)
    d_met = d_change1_2 * rates2 - d_change0_2 * rates1
    d_rates1 = -(d_change0 * met2 + d_change0_2 * met)
    d_rates0 = d_change0 * state0 + d_change0_2 * prey
    d_prey2 = d_met * hunters + d_change0_2 * rates0
    d_hunters2 = d_met * prey - d_change1_2 * rates3
    d_hunters += d_hunters2
    d_prey += d_prey2
    d_rates = np.array([d_rates0, d_rates1, d_rates2, d_rates3])
    d_state = np.array([d_prey, d_hunters])
    return np.float64(state0_2 * state0_2 + state1_2 * state1_2), d_rates, d_state

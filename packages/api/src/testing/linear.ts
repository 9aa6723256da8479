/** A change that was accepted. It has happened at one moment between its request and its answer. */
export interface Accepted<State> {
  /** Changes of the same title do the same. */
  title: string;
  requestedAt: number;
  answeredAt: number;
  /** What it makes of a state; `impossible` when it would have been refused then. */
  apply(this: void, state: State): State | 'impossible';
}

/** Whether the changes lead from one state to the other, in any order in which they can have happened. */
export function canHaveLed<State>(changes: readonly Accepted<State>[], from: State, to: State): boolean {
  const byAnswer = changes.toSorted((one, other) => one.answeredAt - other.answeredAt);
  const deadEnds = new Set<string>();

  const leads = (left: readonly Accepted<State>[], state: State): boolean => {
    const [first] = left;
    if (first === undefined) return JSON.stringify(state) === JSON.stringify(to);
    const place = JSON.stringify([state, left.map((change) => byAnswer.indexOf(change))]);
    if (deadEnds.has(place)) return false;
    deadEnds.add(place);
    const possible = left.filter(({ requestedAt }) => requestedAt < first.answeredAt);
    // Of those that do the same, the one that was answered first may go first.
    const next = possible.filter((one) => one === possible.find(({ title }) => title === one.title));
    return next.some((change) => {
      const after = change.apply(state);
      const others = left.filter((other) => other !== change);
      return after !== 'impossible' && leads(others, after);
    });
  };

  return leads(byAnswer, from);
}

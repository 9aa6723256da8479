const counting = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });

/** Compares names as people count: server-2 precedes server-10. Different names are never equal. */
export function inNaturalOrder(one: string, other: string): number {
  return counting.compare(one, other) || (one < other ? -1 : Number(one > other));
}

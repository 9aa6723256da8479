/** A figure of the product, its reference, and the budget for the comparison. */
export interface Measurement extends Figure {
  benchmark: string;
}

/** A measurement of a benchmark that need not name itself. */
export interface Figure {
  what: string;
  unit: string;
  ours: number;
  /** The same of something as bare as can be, measured in the same run. */
  reference?: number;
  comparison: Comparison;
  /** The limit for the comparison. The kind of comparison decides whether the limit is a minimum or a maximum. */
  budget?: number;
}

/** The ways to compare a figure with its reference. */
type Comparison =
  | 'share of rate'
  | 'share by time'
  | 'times the rate'
  | 'times by time'
  | 'times'
  | 'added'
  | 'itself'
  | 'at least itself';

interface ComparisonRule {
  of: (ours: number, reference: number) => number;
  budgetIs: 'at least' | 'at most';
  write: (value: number, unit: string) => string;
}

const times = (value: number): string => `${value.toFixed(1)}x`;
const percent = (value: number): string => `${Math.round(value * 100)} %`;

const rules: Record<Comparison, ComparisonRule> = {
  'share of rate': { of: (ours, reference) => ours / reference, budgetIs: 'at least', write: percent },
  // With half of the time twice as much would be done, so this is a share of a rate, too.
  'share by time': { of: (ours, reference) => reference / ours, budgetIs: 'at least', write: percent },
  // The same two, beside something that is expected to be much slower.
  'times the rate': { of: (ours, reference) => ours / reference, budgetIs: 'at least', write: times },
  'times by time': { of: (ours, reference) => reference / ours, budgetIs: 'at least', write: times },
  times: {
    of: (ours, reference) => ours / reference,
    budgetIs: 'at most',
    write: (value) => `${value.toFixed(2)}x`,
  },
  added: {
    of: (ours, reference) => ours - reference,
    budgetIs: 'at most',
    write: (value, unit) => `${value < 0 ? '' : '+'}${writeFigure(value)} ${unit}`,
  },
  'at least itself': {
    of: (ours) => ours,
    budgetIs: 'at least',
    write: (value, unit) => `${writeFigure(value)} ${unit}`.trim(),
  },
  itself: {
    of: (ours) => ours,
    budgetIs: 'at most',
    write: (value, unit) => `${writeFigure(value)} ${unit}`,
  },
};

/** The result of a comparison, as a number and as text. */
export interface Verdict {
  value: number;
  text: string;
  budget?: string;
  holds?: boolean;
}

/** Compares a figure with its reference and its budget. */
export function judge({ ours, reference = 0, comparison, budget, unit }: Figure): Verdict {
  const { of, budgetIs, write } = rules[comparison];
  const value = of(ours, reference);
  const text = write(value, unit);
  if (budget === undefined) return { value, text };
  const holds = budgetIs === 'at least' ? value >= budget : value <= budget;
  const limit = comparison === 'added' ? `${budget} ${unit}` : write(budget, unit);
  return { value, text, budget: `${budgetIs} ${limit}`, holds };
}

/** A figure with as many digits as mean something. */
export function writeFigure(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

import type { KubernetesClient } from '@toolhive/kubernetes/client';
import { typeNamed } from './object-kinds.ts';

/**
 * Reads the fields of an object such as `mcpserver/weather`, or of all objects of a kind, without a start of kubectl, and
 * returns what `kubectl get -o jsonpath=EXPRESSION` prints. Undefined for kinds and expressions that only kubectl knows.
 */
export async function readFields(
  client: KubernetesClient,
  namespace: string,
  object: string,
  expression: string,
): Promise<string | undefined> {
  const [kind = '', name] = object.split('/');
  const type = typeNamed(kind);
  const print = printerOf(expression);
  if (type === undefined || print === undefined) return undefined;
  return print(
    name === undefined ? await client.list(type, { namespace }) : await client.get(type, { name, namespace }),
  );
}

type Step = (values: readonly unknown[]) => unknown[];

/** A name, an index, all items, or the items with a certain value. */
const step =
  /\.((?:\\\.|[\w/-])+)|\[(\d+)\]|(\[\*\])|\[\?\(@\.([\w.]+)(==|!=)(?:'([^']*)'|"([^"]*)"|(true|false))\)\]/y;

function printerOf(expression: string): ((value: unknown) => string) | undefined {
  const parts = expression.split(/(\{[^{}]*\})/);
  const printers = parts.map((part) => {
    if (!part.startsWith('{')) return () => part;
    const steps = stepsOf(part.slice(1, -1));
    if (steps === undefined) return undefined;
    return (value: unknown) =>
      steps
        .reduce<readonly unknown[]>((values, next) => next(values), [value])
        .map((found) => (typeof found === 'string' ? found : JSON.stringify(found)))
        .join(' ');
  });
  return printers.includes(undefined)
    ? undefined
    : (value) => printers.map((print) => print?.(value) ?? '').join('');
}

function stepsOf(path: string): Step[] | undefined {
  const steps: Step[] = [];
  step.lastIndex = 0;
  while (step.lastIndex < path.length) {
    const found = step.exec(path);
    if (found === null) return undefined;
    const [, name, index, all, key = '', sign, single, double, literal] = found;
    const wanted = single ?? double ?? literal;
    if (name !== undefined) steps.push(named(name.replaceAll('\\.', '.')));
    else if (index !== undefined) steps.push(named(index));
    else if (all !== undefined) steps.push((values) => values.flatMap(itemsOf));
    else steps.push((values) => values.flatMap(itemsOf).filter(has(key.split('.'), sign === '==', wanted)));
  }
  return steps;
}

const named =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? [(value as Record<string, unknown>)[name]]
        : [],
    );

const itemsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

/** Items without the field fit neither. */
const has =
  (path: readonly string[], isEqual: boolean, wanted: string | undefined) =>
  (item: unknown): boolean => {
    const found = path.reduce<unknown[]>((values, name) => named(name)(values), [item]);
    return found.length > 0 && (String(found[0]) === wanted) === isEqual;
  };

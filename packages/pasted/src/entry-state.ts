import { isObject } from './parse-document.ts';

/** Whether an entry turns its server off. Clients use different words for that. */
export function isDisabled(entry: Readonly<Record<string, unknown>>): boolean {
  const { options, config, status } = entry;
  const places = [entry, options, config].filter(isObject);
  return (
    places.some((place) => off.some((key) => isSet(place[key], true))) ||
    places.some((place) => on.some((key) => isSet(place[key], false))) ||
    (typeof status === 'string' && /^(?:inactive|disabled)$/i.test(status))
  );
}

const off = ['disabled', 'disable', 'isDisabled', 'is_disabled'];
const on = ['enabled', 'enable', 'isActive', 'is_active', 'active', 'isEnabled', 'is_enabled'];

/** YAML and templates can turn `false` into a text. */
function isSet(value: unknown, wanted: boolean): boolean {
  return value === wanted || (typeof value === 'string' && value.toLowerCase() === String(wanted));
}

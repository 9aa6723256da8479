/** A setting that a library for validation has not found, as its report over several lines states it. */
export interface InvalidSetting {
  /** The environment variable that the server reads. */
  variable: string;
  /** What the report says, on one line. */
  said: string;
}

/** Longer reports are not read. */
const maxSettings = 20;

/** The settings that a server's output reports as missing. */
export function invalidSettings(lines: readonly string[]): InvalidSetting[] {
  return [...inPydantic(lines), ...inZod(lines)].slice(-maxSettings);
}

/**
 * The fields of Pydantic's settings, which it reads from variables with their names in upper case. Fields of other
 * models do not name variables, and a name that fits any server can lack a prefix that the report omits.
 */
function inPydantic(lines: readonly string[]): InvalidSetting[] {
  const start = lines.findLastIndex((line) => modelWithErrors.test(line));
  const model = modelWithErrors.exec(lines[start] ?? '')?.[1] ?? '';
  const isSettings = /settings|config|env/i.test(model);
  return lines.slice(start + 1).flatMap((line, index, report) => {
    const isMissing = /^\s+Field required \[type=missing/.test(report[index + 1] ?? '');
    const isSpecific = /^[a-z]\w*_\w{1,100}$/i.test(line) && !generic.test(line);
    const isVariable = /^[A-Z][A-Z0-9_]{2,100}$/.test(line) || (isSettings && isSpecific);
    if (start === -1 || !isMissing || !isVariable) return [];
    return [{ variable: line.toUpperCase(), said: `${model}: ${line}: Field required` }];
  });
}

const generic = /^(?:api|access|auth|base|bearer|client|refresh|secret|server)_(?:id|key|secret|token|url)$/i;

const modelWithErrors = /\b\d{1,3} validation errors? for (\w{1,100})$/;

/** The issues of Zod, which prints them as JSON. */
function inZod(lines: readonly string[]): InvalidSetting[] {
  return lines.flatMap((line, index) => {
    if (!/^\s*"path": \[$/.test(line)) return [];
    const [name = '', end = '', message = ''] = lines.slice(index + 1, index + 4);
    const variable = /^\s*"([A-Z][A-Z0-9_]{2,100})"$/.exec(name)?.[1];
    const reason = /^\s*"message": "(.*\b(?:[Rr]equired|received undefined))"$/.exec(message)?.[1];
    if (variable === undefined || reason === undefined || end.trim() !== '],') return [];
    return [{ variable, said: `${variable}: ${reason}` }];
  });
}

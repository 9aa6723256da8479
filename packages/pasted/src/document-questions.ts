import { isCredential } from '@toolhive/contract/credential';
import { scalar, text } from './fields.ts';
import { isObject } from './parse-document.ts';
import type { Input } from './placeholders.ts';

type Question = readonly [string, Input];

/**
 * What a document asks its user: `inputs` (Visual Studio Code) by their IDs, and by their placeholders `userConfig` (plugins of
 * Claude Code) and `settings` (extensions of Gemini CLI).
 */
export function questionsIn(document: unknown): Question[] {
  if (Array.isArray(document)) return document.flatMap(questionsIn);
  if (!isObject(document)) return [];
  const { inputs, userConfig, ...others } = document;
  return [
    ...(Array.isArray(inputs) ? inputs.flatMap(questionOfEditor) : []),
    ...questionsOfPlugin(userConfig),
    ...settingsOf(document).map(({ name, input }) => [placeholderOf(name), input] as const),
    ...Object.values(others).flatMap(questionsIn),
  ];
}

/** The placeholder for a value: `${user_config.region}`. */
export const placeholderOf = (name: string): string => `\${${name}}`;

function questionOfEditor(input: unknown): Question[] {
  if (!isObject(input) || typeof input['id'] !== 'string') return [];
  const { id, description, password, default: preset } = input;
  return [
    [id, { description: text(description) ?? '', secret: password === true, default: text(preset) }] as const,
  ];
}

function questionsOfPlugin(config: unknown): Question[] {
  if (!isObject(config)) return [];
  return Object.entries(config).flatMap(([key, field]): Question[] => {
    if (!isObject(field)) return [];
    const { title, description, sensitive, required, default: preset } = field;
    const input: Input = {
      description: text(description) ?? text(title) ?? '',
      secret: isSecret(key, sensitive),
      default: scalar(preset) || undefined,
      isOptional: required === false,
    };
    return [[placeholderOf(`user_config.${key}`), input]];
  });
}

/** A variable that an extension of Gemini CLI asks for. */
interface Setting {
  name: string;
  input: Input;
}

/** Gemini CLI asks for each setting, and takes an empty answer, too. */
function settingsOf({ settings }: Readonly<Record<string, unknown>>): Setting[] {
  const all: unknown[] = Array.isArray(settings) ? settings : [];
  return all.flatMap((setting) => {
    if (!isObject(setting)) return [];
    const { name: title, description, sensitive, required, defaultValue } = setting;
    const name = text(setting['envVar']);
    if (name === undefined || !/^[A-Za-z_]\w{0,200}$/.test(name)) return [];
    const input: Input = {
      description: text(description) ?? text(title) ?? '',
      secret: isSecret(name, sensitive),
      default: text(defaultValue),
      isOptional: required !== true,
    };
    return [{ name, input }];
  });
}

/** The variables that every server of an extension gets, in addition to those in its entry. */
export function settingVariables(document: unknown): Record<string, string> {
  if (!isObject(document)) return {};
  return Object.fromEntries(settingsOf(document).map(({ name }) => [name, placeholderOf(name)]));
}

/** A credential is stored as a secret even if its author does not say that it is one. */
const isSecret = (name: string, isSensitive: unknown): boolean =>
  isSensitive === true || isCredential(name, 'value');

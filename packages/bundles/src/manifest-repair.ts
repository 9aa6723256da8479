type Members = Record<string, unknown>;

/** Names of platforms that authors write instead of those of Node.js. */
const platforms: Readonly<Record<string, string>> = {
  mac: 'darwin',
  macos: 'darwin',
  osx: 'darwin',
  windows: 'win32',
  win: 'win32',
  win64: 'win32',
};

/**
 * A manifest with the one meaning that it can have, as other programs run it: without null, with words instead of numbers where
 * only words are possible, and with the names of platforms. A field that its author calls secret is sensitive.
 */
export function repaired(manifest: object): Members {
  const { version, server, compatibility, user_config: fields, ...rest } = withoutNulls(manifest) as Members;
  return {
    ...rest,
    ...(version === undefined ? {} : { version: asWord(version) }),
    ...(server === undefined ? {} : { server: changed(server, repairedServer) }),
    ...(compatibility === undefined ? {} : { compatibility: changed(compatibility, repairedCompatibility) }),
    ...(fields === undefined ? {} : { user_config: changed(fields, (all) => mapValues(all, repairedField)) }),
  };
}

function repairedServer({ mcp_config: config, ...rest }: Members): Members {
  return config === undefined ? rest : { ...rest, mcp_config: changed(config, repairedCommand) };
}

function repairedCommand({ args, env, platform_overrides: overrides, ...rest }: Members): Members {
  return {
    ...rest,
    ...(args === undefined ? {} : { args: Array.isArray(args) ? args.map(asWord) : args }),
    ...(env === undefined ? {} : { env: changed(env, (all) => mapValues(all, asWord)) }),
    ...(overrides === undefined ? {} : { platform_overrides: changed(overrides, repairedOverrides) }),
  };
}

function repairedOverrides(overrides: Members): Members {
  const entries = Object.entries(overrides).map(
    ([name, command]) => [platformOf(name), changed(command, repairedCommand)] as const,
  );
  // The right name wins over another one for the same platform.
  const isRight = ([name]: readonly [unknown, unknown]): boolean => Object.hasOwn(overrides, String(name));
  return Object.fromEntries(entries.toSorted((one, other) => Number(isRight(one)) - Number(isRight(other))));
}

function repairedCompatibility({ platforms: named, ...rest }: Members): Members {
  if (named === undefined) return rest;
  return { ...rest, platforms: Array.isArray(named) ? named.map(platformOf) : named };
}

function repairedField(field: unknown): unknown {
  return changed(field, ({ secret, is_secret, isSecret, ...rest }) => {
    const isSensitive = [rest['sensitive'], secret, is_secret, isSecret].some(
      (flag) => asFlag(flag) === true,
    );
    return {
      ...rest,
      ...(rest['required'] === undefined ? {} : { required: asFlag(rest['required']) }),
      ...(rest['multiple'] === undefined ? {} : { multiple: asFlag(rest['multiple']) }),
      ...(isSensitive
        ? { sensitive: true }
        : rest['sensitive'] === undefined
          ? {}
          : { sensitive: asFlag(rest['sensitive']) }),
    };
  });
}

function platformOf(name: unknown): unknown {
  const word = typeof name === 'string' ? name.toLowerCase() : '';
  return Object.hasOwn(platforms, word) ? platforms[word] : name;
}

function asWord(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
}

function asFlag(value: unknown): unknown {
  const word = typeof value === 'string' ? value.toLowerCase() : value;
  return word === 'true' ? true : word === 'false' ? false : value;
}

/** Changes an object. Another value stays, and the schema refuses it by its name. */
function changed(value: unknown, change: (members: Members) => Members): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? change(value as Members) // an object other than a list has members
    : value;
}

function mapValues(members: Members, change: (value: unknown) => unknown): Members {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, change(value)]));
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((one) => one !== null).map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutNulls(inner)]));
}

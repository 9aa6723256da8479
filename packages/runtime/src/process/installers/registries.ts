const defaultPorts: Record<string, number | undefined> = { 'http:': 80, 'https:': 443 };

/** The `HOST:PORT` of every HTTP URL among the texts. Other texts are ignored. */
export function originsIn(texts: readonly (string | undefined)[]): Set<string> {
  const urls = texts.flatMap((text) => text?.match(/https?:\/\/[^\s"'|,]+/g) ?? []);
  return new Set(
    urls.flatMap((text) => {
      const url = URL.parse(text);
      const port = url?.port || defaultPorts[url?.protocol ?? ''];
      return url === null || port === undefined ? [] : [`${url.hostname.replace(/^\[|\]$/g, '')}:${port}`];
    }),
  );
}

/** The entries of a `.netrc` for these registries, and no others. */
export function netrcFor(text: string, registries: ReadonlySet<string>): string {
  const hosts = new Set([...registries].map((origin) => origin.replace(/:\d+$/, '')));
  const entries = text.matchAll(/\bmachine\s+(\S+)((?:\s+(?:login|password|account)\s+\S+)+)/g);
  return [...entries]
    .filter(([, host = '']) => hosts.has(host))
    .map(([, host, rest]) => `machine ${host}${rest}\n`)
    .join('');
}

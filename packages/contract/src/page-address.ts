/** Hosts of source code, whose pages are often copied instead of a source. */
const codeHosts =
  /^(?:www\.)?(github\.com|gist\.github\.com|gitlab\.com|bitbucket\.org|codeberg\.org|gitee\.com|git\.sr\.ht)$/;

/** The pages of directories with one server each. Real servers of the same companies have other hosts or paths. */
const directories: readonly RegExp[] = [
  /^smithery\.ai\/servers?\/./,
  /^glama\.ai\/mcp\/(?:servers|connectors)\/./,
  /^mcp\.so\/servers?\/./,
  /^pulsemcp\.com\/servers\/./,
  /^mcpservers\.org\/.*servers\/./,
  /^mcpmarket\.com\/server\/./,
  /^lobehub\.com\/(?:[\w-]+\/)?mcp\/./,
  /^cursor\.directory\/mcp\/./,
  /^playbooks\.com\/mcp\/./,
  /^hub\.docker\.com\/mcp\/server\/./,
  /^registry\.modelcontextprotocol\.io\/v0/,
];

const advice =
  'find the server in the registry, or use the command or configuration in its README, such as npx -y PACKAGE';

/** Why the address of a web page is not that of an MCP server, and the alternative. Undefined for other addresses. */
export function pageAddress(address: string): { problem: string; hint: string } | undefined {
  const { protocol = '', hostname = '', pathname = '' } = URL.parse(address) ?? {};
  if (!/^https?:$/.test(protocol)) return undefined;
  if (/\.(?:mcpb|dxt)$/i.test(pathname)) {
    return {
      problem: 'this is the address of a bundle, not of an MCP server',
      hint: 'run it as a package: mcpb://https://HOST/FILE.mcpb',
    };
  }
  if (hostname === 'raw.githubusercontent.com') {
    return { problem: 'this is a file of a repository, not the address of an MCP server', hint: advice };
  }
  const directory = directories.find((pattern) =>
    pattern.test(`${hostname.replace(/^www\./, '')}${pathname}`),
  );
  if (directory !== undefined) {
    return {
      problem: `this is a page about a server on ${hostname}, not the address of an MCP server`,
      hint: 'use the command, the configuration, or the URL that the page shows',
    };
  }
  const [, host] = codeHosts.exec(hostname) ?? [];
  // GitLab has an MCP server below /api, also on gitlab.com. Its pages have this mark on every host.
  if (host === undefined ? !/\/-\/(?:tree|blob|raw|releases)\//.test(pathname) : pathname.startsWith('/api/'))
    return undefined;
  const isRepository = host === undefined || pathname.split('/').filter(Boolean).length > 1;
  const page = isRepository ? 'the page of a repository on' : 'a page of';
  return { problem: `this is ${page} ${host ?? 'GitLab'}, not the address of an MCP server`, hint: advice };
}

/** A published server with an operation that shows that it works. */
export interface PublishedServer {
  /** With an exact version, or a name in the built-in registry, which has one: what a server answers changes with it. */
  package: string;
  args?: readonly string[];
  /** What the server requires to start. No account exists for any of these values. */
  env?: Readonly<Record<string, string>>;
  /** A directory below the test's own, mounted read-only at its name. */
  mount?: string;
  /** A further Python package that it needs. */
  with?: string;
  tool: string;
  given?: Readonly<Record<string, unknown>>;
  /** The result, or for a server of an online service the server's own message that it cannot reach the service. */
  answer: RegExp;
}

const unreachable = /fetch failed|EAI_AGAIN|name resolution|NameResolutionError|connection refused|DNS/i;

/** Popular servers and the ones of the catalog, with packages that do not change. None of them has a network here. */
export const publishedServers: Readonly<Record<string, PublishedServer>> = {
  airtable: {
    package: 'npx://airtable-mcp-server@1.14.0',
    env: { AIRTABLE_API_KEY: 'placeholder' },
    tool: 'list_bases',
    answer: unreachable,
  },
  arxiv: { package: 'uvx://arxiv-mcp-server@0.8.2', tool: 'list_papers', answer: /"total_papers": 0/ },
  'aws-documentation': {
    package: 'uvx://awslabs.aws-documentation-mcp-server@1.2.3',
    tool: 'search_documentation',
    given: { search_phrase: 's3' },
    answer: unreachable,
  },
  'brave-search': {
    package: 'npx://@brave/brave-search-mcp-server@2.1.4',
    env: { BRAVE_API_KEY: 'placeholder' },
    tool: 'brave_web_search',
    given: { query: 'toolhive' },
    answer: unreachable,
  },
  browserstack: {
    package: 'npx://@browserstack/mcp-server@1.4.2',
    env: { BROWSERSTACK_USERNAME: 'placeholder', BROWSERSTACK_ACCESS_KEY: 'placeholder' },
    tool: 'listSubTestPlans',
    given: { project_identifier: 'PR-1', parent_test_plan_identifier: 'TP-1' },
    answer: unreachable,
  },
  calculator: {
    package: 'uvx://mcp-server-calculator@0.2.1',
    tool: 'calculate',
    given: { expression: '6*7' },
    answer: /^42$/,
  },
  charts: {
    package: 'npx://@antv/mcp-server-chart@0.9.10',
    tool: 'generate_pie_chart',
    given: { data: [{ category: 'one', value: 1 }] },
    answer: unreachable,
  },
  'chrome-devtools': {
    package: 'npx://chrome-devtools-mcp@1.11.0',
    tool: 'new_page',
    given: { url: 'data:text/html,<h1>hello</h1>' },
    answer: /data:text\/html,<h1>hello<\/h1> \[selected\]/,
  },
  circleci: {
    package: 'npx://@circleci/mcp-server-circleci@0.20.0',
    env: { CIRCLECI_TOKEN: 'placeholder' },
    tool: 'config_helper',
    given: { params: { configFile: 'version: 2.1' } },
    answer: unreachable,
  },
  clarity: {
    package: 'npx://@microsoft/clarity-mcp-server@2.0.1',
    tool: 'query-documentation-resources',
    given: { query: 'heatmaps' },
    answer: /CLARITY_API_TOKEN/,
  },
  clickhouse: {
    package: 'uvx://mcp-clickhouse@0.7.0',
    env: {
      CLICKHOUSE_HOST: 'clickhouse.example',
      CLICKHOUSE_USER: 'placeholder',
      CLICKHOUSE_PASSWORD: 'placeholder',
    },
    tool: 'list_databases',
    answer: unreachable,
  },
  'code-runner': {
    package: 'npx://mcp-server-code-runner@0.1.8',
    tool: 'run-code',
    given: { code: 'console.log(6 * 7)', languageId: 'javascript' },
    answer: /^42$/m,
  },
  commands: {
    package: 'npx://mcp-server-commands@0.5.0',
    tool: 'run_command',
    given: { command: 'echo hello' },
    answer: /^hello$/m,
  },
  context7: {
    package: 'npx://@upstash/context7-mcp@4.1.1',
    tool: 'resolve-library-id',
    given: { libraryName: 'react', query: 'state' },
    answer: unreachable,
  },
  dbhub: {
    package: 'npx://@bytebase/dbhub@1.4.0',
    env: { DSN: 'sqlite:///:memory:' },
    tool: 'execute_sql',
    given: { sql: 'select 6 * 7 as answer' },
    answer: /"answer": 42/,
  },
  digitalocean: {
    package: 'npx://@digitalocean/mcp@1.0.70',
    env: { DIGITALOCEAN_API_TOKEN: 'placeholder' },
    tool: 'region-list',
    answer: unreachable,
  },
  duckduckgo: {
    package: 'uvx://duckduckgo-mcp-server@0.7.0',
    tool: 'search',
    given: { query: 'toolhive' },
    answer: /No results were found/,
  },
  everything: {
    package: 'npx://@modelcontextprotocol/server-everything@2026.8.31',
    tool: 'get-sum',
    given: { a: 40, b: 2 },
    answer: /\b42\b/,
  },
  eslint: {
    package: 'npx://@eslint/mcp@0.3.13',
    tool: 'lint-files',
    given: { filePaths: ['/home/server/missing.js'] },
    answer: /No files matching '\/home\/server\/missing\.js' were found/,
  },
  exa: {
    package: 'npx://exa-mcp-server@3.4.1',
    env: { EXA_API_KEY: 'placeholder' },
    tool: 'web_search_exa',
    given: { query: 'toolhive' },
    answer: unreachable,
  },
  excel: {
    package: 'uvx://excel-mcp-server@2.2.2',
    args: ['stdio'],
    tool: 'create_workbook',
    given: { path: '/home/server/sums.xlsx' },
    answer: /"\/home\/server\/sums\.xlsx"/,
  },
  fetch: {
    package: 'uvx://mcp-server-fetch@2026.10.24',
    tool: 'fetch',
    given: { url: 'https://example.com' },
    answer: /Failed to fetch robots\.txt https:\/\/example\.com\/robots\.txt due to a connection issue/,
  },
  filesystem: {
    package: 'npx://@modelcontextprotocol/server-filesystem@2026.8.31',
    mount: 'notes',
    args: ['/notes'],
    tool: 'read_text_file',
    given: { path: '/notes/hello.txt' },
    answer: /^a note$/,
  },
  firecrawl: {
    package: 'npx://firecrawl-mcp@3.26.0',
    env: { FIRECRAWL_API_KEY: 'placeholder' },
    tool: 'firecrawl_scrape',
    given: { url: 'https://example.com' },
    answer: unreachable,
  },
  git: {
    package: 'uvx://mcp-server-git@2026.10.19',
    mount: 'repository',
    tool: 'git_log',
    given: { repo_path: '/repository' },
    answer: /first commit/,
  },
  'git-for-node': {
    package: 'npx://@cyanheads/git-mcp-server@2.15.3',
    tool: 'git_init',
    given: { path: '/home/server/repository' },
    answer: /"success": true/,
  },
  github: {
    package: 'npx://@modelcontextprotocol/server-github@2025.4.8',
    env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'placeholder' },
    tool: 'search_repositories',
    given: { query: 'toolhive' },
    answer: unreachable,
  },
  'go-everything': {
    package: 'go://github.com/mark3labs/mcp-go/examples/everything@v1.2.1',
    tool: 'add',
    given: { a: 40, b: 2 },
    answer: /42\.0/,
  },
  hubspot: {
    package: 'npx://@hubspot/mcp-server@0.4.0',
    env: { PRIVATE_APP_ACCESS_TOKEN: 'placeholder' },
    tool: 'hubspot-get-user-details',
    answer: unreachable,
  },
  'line-bot': {
    package: 'npx://@line/line-bot-mcp-server@0.5.0',
    env: { CHANNEL_ACCESS_TOKEN: 'placeholder' },
    tool: 'get_message_quota',
    answer: unreachable,
  },
  mapbox: {
    package: 'npx://@mapbox/mcp-server@0.14.0',
    env: { MAPBOX_ACCESS_TOKEN: 'pk.eyJ1IjoieCJ9.x' },
    tool: 'distance_tool',
    given: { from: { longitude: 0, latitude: 0 }, to: { longitude: 1, latitude: 0 } },
    answer: /^Distance: 111\.195 kilometers/,
  },
  markitdown: {
    package: 'uvx://markitdown-mcp@0.0.1a8',
    tool: 'convert_to_markdown',
    given: { uri: 'data:text/html,<h1>hello</h1>' },
    answer: /^# hello$/,
  },
  // By its name in the registry, which says where it stores its file.
  memory: {
    package: 'memory',
    tool: 'create_entities',
    given: { entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }] },
    answer: /"writes programs"/,
  },
  mui: {
    package: 'npx://@mui/mcp@0.1.6',
    tool: 'fetchDocs',
    given: { urls: ['https://llms.mui.com/material-ui/7.0.0/llms.txt'] },
    answer: unreachable,
  },
  notion: {
    package: 'npx://@notionhq/notion-mcp-server@2.5.2',
    env: { NOTION_TOKEN: 'placeholder' },
    tool: 'API-get-self',
    answer: unreachable,
  },
  perplexity: {
    package: 'npx://@perplexity-ai/mcp-server@1.2.1',
    env: { PERPLEXITY_API_KEY: 'placeholder' },
    tool: 'perplexity_ask',
    given: { messages: [{ role: 'user', content: 'hello' }] },
    answer: unreachable,
  },
  pinecone: {
    package: 'npx://@pinecone-database/mcp@0.3.0',
    tool: 'search-docs',
    given: { query: 'index' },
    answer: unreachable,
  },
  playwright: {
    package: 'npx://@playwright/mcp@0.0.83',
    tool: 'browser_navigate',
    given: { url: 'data:text/html,<title>hello</title>' },
    answer: /Page Title: hello/,
  },
  postman: {
    package: 'npx://@postman/postman-mcp-server@2.13.0',
    env: { POSTMAN_API_KEY: 'placeholder' },
    tool: 'getAuthenticatedUser',
    answer: unreachable,
  },
  redis: {
    package: 'uvx://redis-mcp-server@0.5.1',
    tool: 'get',
    given: { key: 'greeting' },
    answer: unreachable,
  },
  repomix: {
    package: 'npx://repomix@1.18.1',
    mount: 'notes',
    args: ['--mcp'],
    tool: 'pack_codebase',
    given: { directory: '/notes' },
    answer: /"totalFiles":\s*1\b/,
  },
  sentry: {
    package: 'npx://@sentry/mcp-server@0.39.0',
    env: { SENTRY_ACCESS_TOKEN: 'placeholder' },
    tool: 'find_organizations',
    answer: unreachable,
  },
  'sequential-thinking': {
    package: 'npx://@modelcontextprotocol/server-sequential-thinking@2026.8.31',
    tool: 'sequentialthinking',
    given: { thought: 'it works', thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false },
    answer: /"thoughtHistoryLength": 1/,
  },
  shadcn: {
    package: 'npx://shadcn@4.23.0',
    args: ['mcp'],
    tool: 'get_audit_checklist',
    answer: /Component Audit Checklist/,
  },
  slack: {
    package: 'npx://@modelcontextprotocol/server-slack@2025.4.25',
    env: { SLACK_BOT_TOKEN: 'xoxb-placeholder', SLACK_TEAM_ID: 'T0' },
    tool: 'slack_list_channels',
    answer: unreachable,
  },
  sqlite: {
    package: 'uvx://mcp-server-sqlite@2025.4.25',
    with: 'mcp<2',
    args: ['--db-path', '/home/server/data.db'],
    tool: 'read_query',
    given: { query: 'select 6 * 7 as answer' },
    answer: /'answer': 42/,
  },
  tavily: {
    package: 'npx://tavily-mcp@0.2.22',
    env: { TAVILY_API_KEY: 'tvly-placeholder' },
    tool: 'tavily_search',
    given: { query: 'toolhive' },
    answer: unreachable,
  },
  time: {
    package: 'uvx://mcp-server-time@2026.10.19',
    tool: 'convert_time',
    given: { source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo' },
    answer: /"time_difference": "\+9\.0h"/,
  },
  word: {
    package: 'uvx://office-word-mcp-server@1.1.11',
    tool: 'create_document',
    given: { filename: '/home/server/letter.docx' },
    answer: /letter\.docx created successfully/,
  },
  wikipedia: {
    package: 'uvx://wikipedia-mcp@2.0.1',
    tool: 'search_wikipedia',
    given: { query: 'isolation' },
    answer: /"status":\s*"no_results"/,
  },
};

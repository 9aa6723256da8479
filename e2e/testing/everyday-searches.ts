import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';
import type { SearchableTool } from '@toolhive/tool-search/tool-index';

/** The tools of 22 published npm servers: see `bench/data/README.md`. */
export function realTools(): SearchableTool[] {
  const file = new URL('../../bench/data/real-tools.json.br', import.meta.url);
  const servers = JSON.parse(brotliDecompressSync(readFileSync(file)).toString()) as Record<
    string,
    Omit<SearchableTool, 'id' | 'server'>[]
  >;
  return Object.entries(servers).flatMap(([server, tools]) =>
    tools.map((tool) => ({ ...tool, id: `${server} ${tool.name}`, server })),
  );
}

/** What people ask for, each with the tools that do it. Written before the first search. */
export const everydaySearches: readonly (readonly [query: string, ...tools: string[]])[] = [
  ['read a text file', 'read_text_file', 'read_file'],
  ['rename a file', 'move_file'],
  ['make a new folder', 'create_directory'],
  ['show me what is in this directory', 'list_directory', 'directory_tree', 'list_directory_with_sizes'],
  ['find files by name', 'search_files'],
  ['how large is this file and when was it changed', 'get_file_info'],
  ['replace a line in a file', 'edit_file'],
  ['take a screenshot of the page', 'take_screenshot', 'browser_take_screenshot'],
  ['open a web page in the browser', 'browser_navigate', 'navigate_page', 'new_page'],
  ['click a button', 'click', 'browser_click'],
  ['fill out a form on a website', 'fill_form', 'browser_fill_form', 'fill'],
  ['which requests does the page send', 'list_network_requests', 'browser_network_requests'],
  ['run a lighthouse audit', 'lighthouse_audit'],
  ['search the web for recent news', 'brave_news_search', 'tavily_search', 'brave_web_search'],
  ['find pictures of a cat', 'brave_image_search'],
  ['find a pizza place nearby', 'brave_local_search', 'brave_place_search', 'category_search_tool'],
  [
    'scrape the content of a website',
    'firecrawl_scrape',
    'firecrawl_crawl',
    'tavily_extract',
    'tavily_crawl',
  ],
  ['list all pages of a site', 'firecrawl_map', 'tavily_map'],
  ['search scientific papers', 'firecrawl_research_search_papers'],
  ['draw a pie chart', 'generate_pie_chart'],
  ['show a trend over time as a line chart', 'generate_line_chart', 'generate_area_chart'],
  ['make a mind map', 'generate_mind_map'],
  ['flowchart from mermaid text', 'generate_mermaid_diagram', 'generate_flow_diagram'],
  ['driving directions between two places', 'directions_tool'],
  ['which address is at these coordinates', 'reverse_geocode_tool'],
  ['how far apart are two points', 'distance_tool'],
  ['list the pods of a namespace', 'kubectl_get'],
  ['logs of a pod', 'kubectl_logs'],
  ['install a helm chart', 'install_helm_chart'],
  ['scale a deployment to three replicas', 'kubectl_scale'],
  ['run a query in postgres', 'execute_sql'],
  ['which tables does the database have', 'search_objects', 'list_tables'],
  ['find documents in a mongodb collection', 'find'],
  ['which indexes does this collection have', 'collection-indexes'],
  ['create a record in airtable', 'create_record'],
  ['add a column to an airtable table', 'create_field'],
  ['create a notion page', 'API-post-page'],
  ['write a comment on a notion page', 'API-create-a-comment'],
  ['unresolved errors in sentry', 'search_issues'],
  ['resolve an issue in sentry', 'update_issue'],
  ['create a contact in hubspot', 'hubspot-batch-create-objects'],
  ['read cells of an excel sheet', 'excel_read_sheet'],
  ['write values to a spreadsheet', 'excel_write_to_sheet', 'generate_spreadsheet'],
  ['remember that Ada likes tea', 'add_observations', 'create_entities'],
  ['documentation of a library', 'get-library-docs', 'resolve-library-id'],
  ['run a python snippet', 'run-code'],
  ['check my javascript for lint errors', 'lint-files'],
  ['take a scren shot', 'take_screenshot', 'browser_take_screenshot'],
  ['kuberntes port forward', 'port_forward'],
  ['创建文件夹', 'create_directory'],
];

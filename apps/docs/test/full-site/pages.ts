/** The pages of the site with everything switched on, by their IDs. */
export const fullSitePages = ['toolhive/index', 'toolhive/faq', 'toolhive/guides-cli/run-mcp-servers'];

/** Where the documentation site publishes the document, below its origin. */
export const clientDocumentPath = '/oauth-client.json';

/**
 * Returns the document that describes this client to authorization servers (OAuth Client ID Metadata Document,
 * draft-ietf-oauth-client-id-metadata-document). Its URL is the client's ID. The redirect URIs can have any port
 * (RFC 8252, section 7.3).
 */
export function clientDocument(url: string): Record<string, unknown> {
  return {
    client_id: url,
    client_name: clientName,
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** The name on the consent page, the same as in the Go original. */
export const clientName = 'ToolHive MCP Client';

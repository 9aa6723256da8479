import { clientApplications, ClientName } from '@toolhive/contract/client-application';
import type { ClientApplication, SystemPaths } from '@toolhive/contract/client-application';
import { expect, test } from 'vitest';
import { entryValue } from './entry.ts';

const describeOn = (system: keyof SystemPaths) => (application: ClientApplication) =>
  [
    `${application.id} (${application.product})`,
    `  ${application.detection.kind} ${application.detection.path[system]}`,
    `  ${application.format} ${application.storage} ${application.config[system]} ${application.pointer.join(' > ')}`,
    ...(['sse', 'streamable-http'] as const).map(
      (transport) => `  ${JSON.stringify(entryValue(application, { name: 'fetch', url: 'URL', transport }))}`,
    ),
  ].join('\n');

const table = (system: keyof SystemPaths): string =>
  `\n${clientApplications.map(describeOn(system)).join('\n')}\n`;

test('has a row for each of the applications, in a fixed order', () => {
  const ids = clientApplications.map(({ id }) => id);

  expect(ids).toEqual(ClientName.options);
});

test('knows the applications of Linux', () => {
  expect(table('linux')).toMatchInlineSnapshot(`
    "
    roo-code (VS Code Roo Code extension)
      directory .config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings
      json map .config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamable-http"}
    cline (VS Code Cline extension)
      directory .config/Code/User/globalStorage/saoudrizwan.claude-dev/settings
      json map .config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamableHttp"}
    vscode-insider (Visual Studio Code Insiders)
      directory .config/Code - Insiders/User
      json map .config/Code - Insiders/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    vscode (Visual Studio Code)
      directory .config/Code/User
      json map .config/Code/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    cursor (Cursor editor)
      directory .cursor
      json map .cursor/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    claude-code (Claude Code CLI)
      file .claude.json
      json map .claude.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    windsurf (Windsurf IDE)
      directory .codeium/windsurf
      json map .codeium/windsurf/mcp_config.json mcpServers
      {"serverUrl":"URL","type":"sse"}
      {"serverUrl":"URL","type":"http"}
    windsurf-jetbrains (Windsurf plugin for JetBrains IDEs)
      directory .codeium
      json map .codeium/mcp_config.json mcpServers
      {"serverUrl":"URL","type":"sse"}
      {"serverUrl":"URL","type":"http"}
    amp-cli (Sourcegraph Amp CLI)
      directory .config/amp
      json map .config/amp/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-vscode (Sourcegraph Amp for VS Code)
      directory .config/Code/User
      json map .config/Code/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-vscode-insider (Sourcegraph Amp for VS Code Insiders)
      directory .config/Code - Insiders/User
      json map .config/Code - Insiders/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-cursor (Sourcegraph Amp for Cursor)
      directory .config/Cursor/User
      json map .config/Cursor/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-windsurf (Sourcegraph Amp for Windsurf)
      directory .config/Windsurf/User
      json map .config/Windsurf/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    lm-studio (LM Studio application)
      directory .lmstudio
      json map .lmstudio/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    goose (Goose AI agent)
      directory .config/goose
      yaml map .config/goose/config.yaml extensions
      {"name":"fetch","uri":"URL","type":"sse","enabled":true,"timeout":60}
      {"name":"fetch","uri":"URL","type":"streamable_http","enabled":true,"timeout":60}
    trae (Trae IDE)
      directory .config/Trae/User
      json map .config/Trae/User/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    continue (Continue.dev IDE plugins)
      directory .continue
      yaml list .continue/config.yaml mcpServers
      {"name":"fetch","url":"URL","type":"sse"}
      {"name":"fetch","url":"URL","type":"streamable-http"}
    "
  `);
});

test('knows the applications of macOS', () => {
  expect(table('darwin')).toMatchInlineSnapshot(`
    "
    roo-code (VS Code Roo Code extension)
      directory Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings
      json map Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamable-http"}
    cline (VS Code Cline extension)
      directory Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings
      json map Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamableHttp"}
    vscode-insider (Visual Studio Code Insiders)
      directory Library/Application Support/Code - Insiders/User
      json map Library/Application Support/Code - Insiders/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    vscode (Visual Studio Code)
      directory Library/Application Support/Code/User
      json map Library/Application Support/Code/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    cursor (Cursor editor)
      directory .cursor
      json map .cursor/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    claude-code (Claude Code CLI)
      file .claude.json
      json map .claude.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    windsurf (Windsurf IDE)
      directory .codeium/windsurf
      json map .codeium/windsurf/mcp_config.json mcpServers
      {"serverUrl":"URL","type":"sse"}
      {"serverUrl":"URL","type":"http"}
    windsurf-jetbrains (Windsurf plugin for JetBrains IDEs)
      directory .codeium
      json map .codeium/mcp_config.json mcpServers
      {"serverUrl":"URL","type":"sse"}
      {"serverUrl":"URL","type":"http"}
    amp-cli (Sourcegraph Amp CLI)
      directory .config/amp
      json map .config/amp/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-vscode (Sourcegraph Amp for VS Code)
      directory Library/Application Support/Code/User
      json map Library/Application Support/Code/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-vscode-insider (Sourcegraph Amp for VS Code Insiders)
      directory Library/Application Support/Code - Insiders/User
      json map Library/Application Support/Code - Insiders/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-cursor (Sourcegraph Amp for Cursor)
      directory Library/Application Support/Cursor/User
      json map Library/Application Support/Cursor/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-windsurf (Sourcegraph Amp for Windsurf)
      directory Library/Application Support/Windsurf/User
      json map Library/Application Support/Windsurf/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    lm-studio (LM Studio application)
      directory .lmstudio
      json map .lmstudio/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    goose (Goose AI agent)
      directory .config/goose
      yaml map .config/goose/config.yaml extensions
      {"name":"fetch","uri":"URL","type":"sse","enabled":true,"timeout":60}
      {"name":"fetch","uri":"URL","type":"streamable_http","enabled":true,"timeout":60}
    trae (Trae IDE)
      directory Library/Application Support/Trae/User
      json map Library/Application Support/Trae/User/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    continue (Continue.dev IDE plugins)
      directory .continue
      yaml list .continue/config.yaml mcpServers
      {"name":"fetch","url":"URL","type":"sse"}
      {"name":"fetch","url":"URL","type":"streamable-http"}
    "
  `);
});

test('knows the applications of Windows', () => {
  expect(table('windows')).toMatchInlineSnapshot(`
    "
    roo-code (VS Code Roo Code extension)
      directory AppData/Roaming/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings
      json map AppData/Roaming/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamable-http"}
    cline (VS Code Cline extension)
      directory AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/settings
      json map AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamableHttp"}
    vscode-insider (Visual Studio Code Insiders)
      directory AppData/Roaming/Code - Insiders/User
      json map AppData/Roaming/Code - Insiders/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    vscode (Visual Studio Code)
      directory AppData/Roaming/Code/User
      json map AppData/Roaming/Code/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    cursor (Cursor editor)
      directory .cursor
      json map .cursor/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    claude-code (Claude Code CLI)
      file .claude.json
      json map .claude.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    windsurf (Windsurf IDE)
      directory .codeium/windsurf
      json map .codeium/windsurf/mcp_config.json mcpServers
      {"serverUrl":"URL","type":"sse"}
      {"serverUrl":"URL","type":"http"}
    windsurf-jetbrains (Windsurf plugin for JetBrains IDEs)
      directory .codeium
      json map .codeium/mcp_config.json mcpServers
      {"serverUrl":"URL","type":"sse"}
      {"serverUrl":"URL","type":"http"}
    amp-cli (Sourcegraph Amp CLI)
      directory AppData/Roaming/amp
      json map AppData/Roaming/amp/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-vscode (Sourcegraph Amp for VS Code)
      directory AppData/Roaming/Code/User
      json map AppData/Roaming/Code/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-vscode-insider (Sourcegraph Amp for VS Code Insiders)
      directory AppData/Roaming/Code - Insiders/User
      json map AppData/Roaming/Code - Insiders/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-cursor (Sourcegraph Amp for Cursor)
      directory AppData/Roaming/Cursor/User
      json map AppData/Roaming/Cursor/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    amp-windsurf (Sourcegraph Amp for Windsurf)
      directory AppData/Roaming/Windsurf/User
      json map AppData/Roaming/Windsurf/User/settings.json amp.mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    lm-studio (LM Studio application)
      directory .lmstudio
      json map .lmstudio/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    goose (Goose AI agent)
      directory AppData/Block/goose
      yaml map AppData/Block/goose/config.yaml extensions
      {"name":"fetch","uri":"URL","type":"sse","enabled":true,"timeout":60}
      {"name":"fetch","uri":"URL","type":"streamable_http","enabled":true,"timeout":60}
    trae (Trae IDE)
      directory AppData/Roaming/Trae/User
      json map AppData/Roaming/Trae/User/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    continue (Continue.dev IDE plugins)
      directory .continue
      yaml list .continue/config.yaml mcpServers
      {"name":"fetch","url":"URL","type":"sse"}
      {"name":"fetch","url":"URL","type":"streamable-http"}
    "
  `);
});

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
      (transport) =>
        `  ${JSON.stringify(entryValue(application, { name: 'fetch', url: 'URL', transport }, ['thv']))}`,
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
    codex (OpenAI Codex CLI, app, and IDE extension)
      directory .codex
      toml map .codex/config.toml mcp_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    claude-desktop (Claude Desktop)
      directory .config/Claude
      json map .config/Claude/claude_desktop_config.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
    gemini-cli (Gemini CLI)
      directory .gemini
      json map .gemini/settings.json mcpServers
      {"url":"URL"}
      {"httpUrl":"URL"}
    qwen-code (Qwen Code)
      directory .qwen
      json map .qwen/settings.json mcpServers
      {"url":"URL"}
      {"httpUrl":"URL"}
    zed (Zed editor)
      directory .config/zed
      json map .config/zed/settings.json context_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    opencode (OpenCode)
      directory .config/opencode
      json map .config/opencode/opencode.json mcp
      {"url":"URL","type":"remote","enabled":true}
      {"url":"URL","type":"remote","enabled":true}
    kiro (Kiro IDE and CLI)
      directory .kiro
      json map .kiro/settings/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    antigravity (Antigravity IDE)
      directory .gemini/antigravity
      json map .gemini/antigravity/mcp_config.json mcpServers
      {"serverUrl":"URL"}
      {"serverUrl":"URL"}
    antigravity-cli (Antigravity CLI)
      directory .gemini/config
      json map .gemini/config/mcp_config.json mcpServers
      {"serverUrl":"URL"}
      {"serverUrl":"URL"}
    copilot-cli (GitHub Copilot CLI)
      directory .copilot
      json map .copilot/mcp-config.json mcpServers
      {"url":"URL","type":"sse","tools":["*"]}
      {"url":"URL","type":"http","tools":["*"]}
    factory (Factory Droid)
      directory .factory
      json map .factory/mcp.json mcpServers
      {"type":"stdio","command":"thv","args":["proxy","stdio","fetch"],"disabled":false}
      {"url":"URL","type":"http","disabled":false}
    kimi-cli (Kimi CLI)
      directory .kimi
      json map .kimi/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    kimi-code (Kimi Code CLI)
      directory .kimi-code
      json map .kimi-code/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    mistral-vibe (Mistral Vibe)
      directory .vibe
      toml list .vibe/config.toml mcp_servers
      {"name":"fetch","transport":"stdio","command":"thv","args":["proxy","stdio","fetch"]}
      {"name":"fetch","url":"URL","transport":"streamable-http"}
    qoder (Qoder IDE)
      directory .qoder
      json map .qoder/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    qoder-cli (Qoder CLI)
      directory .qoder
      json map .qoder/settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    vscode-server (Visual Studio Code Server, on the remote machine)
      directory .vscode-server/data/User
      json map .vscode-server/data/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    xcode-codex (Codex in Xcode)
      directory Library/Developer/Xcode/CodingAssistant/codex
      toml map Library/Developer/Xcode/CodingAssistant/codex/config.toml mcp_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    copilot-xcode (GitHub Copilot for Xcode)
      directory .config/github-copilot/xcode
      json map .config/github-copilot/xcode/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    cline-cli (Cline CLI)
      directory .cline
      json map .cline/data/settings/cline_mcp_settings.json mcpServers
      {"transport":{"url":"URL","type":"sse"}}
      {"transport":{"url":"URL","type":"streamableHttp"}}
    junie (JetBrains Junie)
      directory .junie
      json map .junie/mcp/mcp.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
    kilo-code (VS Code Kilo Code extension)
      directory .config/Code/User/globalStorage/kilocode.kilo-code/settings
      json map .config/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamable-http"}
    amazon-q (Amazon Q Developer)
      directory .aws/amazonq
      json map .aws/amazonq/mcp.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
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
    codex (OpenAI Codex CLI, app, and IDE extension)
      directory .codex
      toml map .codex/config.toml mcp_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    claude-desktop (Claude Desktop)
      directory Library/Application Support/Claude
      json map Library/Application Support/Claude/claude_desktop_config.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
    gemini-cli (Gemini CLI)
      directory .gemini
      json map .gemini/settings.json mcpServers
      {"url":"URL"}
      {"httpUrl":"URL"}
    qwen-code (Qwen Code)
      directory .qwen
      json map .qwen/settings.json mcpServers
      {"url":"URL"}
      {"httpUrl":"URL"}
    zed (Zed editor)
      directory .config/zed
      json map .config/zed/settings.json context_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    opencode (OpenCode)
      directory .config/opencode
      json map .config/opencode/opencode.json mcp
      {"url":"URL","type":"remote","enabled":true}
      {"url":"URL","type":"remote","enabled":true}
    kiro (Kiro IDE and CLI)
      directory .kiro
      json map .kiro/settings/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    antigravity (Antigravity IDE)
      directory .gemini/antigravity
      json map .gemini/antigravity/mcp_config.json mcpServers
      {"serverUrl":"URL"}
      {"serverUrl":"URL"}
    antigravity-cli (Antigravity CLI)
      directory .gemini/config
      json map .gemini/config/mcp_config.json mcpServers
      {"serverUrl":"URL"}
      {"serverUrl":"URL"}
    copilot-cli (GitHub Copilot CLI)
      directory .copilot
      json map .copilot/mcp-config.json mcpServers
      {"url":"URL","type":"sse","tools":["*"]}
      {"url":"URL","type":"http","tools":["*"]}
    factory (Factory Droid)
      directory .factory
      json map .factory/mcp.json mcpServers
      {"type":"stdio","command":"thv","args":["proxy","stdio","fetch"],"disabled":false}
      {"url":"URL","type":"http","disabled":false}
    kimi-cli (Kimi CLI)
      directory .kimi
      json map .kimi/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    kimi-code (Kimi Code CLI)
      directory .kimi-code
      json map .kimi-code/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    mistral-vibe (Mistral Vibe)
      directory .vibe
      toml list .vibe/config.toml mcp_servers
      {"name":"fetch","transport":"stdio","command":"thv","args":["proxy","stdio","fetch"]}
      {"name":"fetch","url":"URL","transport":"streamable-http"}
    qoder (Qoder IDE)
      directory .qoder
      json map .qoder/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    qoder-cli (Qoder CLI)
      directory .qoder
      json map .qoder/settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    vscode-server (Visual Studio Code Server, on the remote machine)
      directory .vscode-server/data/User
      json map .vscode-server/data/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    xcode-codex (Codex in Xcode)
      directory Library/Developer/Xcode/CodingAssistant/codex
      toml map Library/Developer/Xcode/CodingAssistant/codex/config.toml mcp_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    copilot-xcode (GitHub Copilot for Xcode)
      directory .config/github-copilot/xcode
      json map .config/github-copilot/xcode/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    cline-cli (Cline CLI)
      directory .cline
      json map .cline/data/settings/cline_mcp_settings.json mcpServers
      {"transport":{"url":"URL","type":"sse"}}
      {"transport":{"url":"URL","type":"streamableHttp"}}
    junie (JetBrains Junie)
      directory .junie
      json map .junie/mcp/mcp.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
    kilo-code (VS Code Kilo Code extension)
      directory Library/Application Support/Code/User/globalStorage/kilocode.kilo-code/settings
      json map Library/Application Support/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamable-http"}
    amazon-q (Amazon Q Developer)
      directory .aws/amazonq
      json map .aws/amazonq/mcp.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
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
    codex (OpenAI Codex CLI, app, and IDE extension)
      directory .codex
      toml map .codex/config.toml mcp_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    claude-desktop (Claude Desktop)
      directory AppData/Roaming/Claude
      json map AppData/Roaming/Claude/claude_desktop_config.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
    gemini-cli (Gemini CLI)
      directory .gemini
      json map .gemini/settings.json mcpServers
      {"url":"URL"}
      {"httpUrl":"URL"}
    qwen-code (Qwen Code)
      directory .qwen
      json map .qwen/settings.json mcpServers
      {"url":"URL"}
      {"httpUrl":"URL"}
    zed (Zed editor)
      directory AppData/Roaming/Zed
      json map AppData/Roaming/Zed/settings.json context_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    opencode (OpenCode)
      directory .config/opencode
      json map .config/opencode/opencode.json mcp
      {"url":"URL","type":"remote","enabled":true}
      {"url":"URL","type":"remote","enabled":true}
    kiro (Kiro IDE and CLI)
      directory .kiro
      json map .kiro/settings/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    antigravity (Antigravity IDE)
      directory .gemini/antigravity
      json map .gemini/antigravity/mcp_config.json mcpServers
      {"serverUrl":"URL"}
      {"serverUrl":"URL"}
    antigravity-cli (Antigravity CLI)
      directory .gemini/config
      json map .gemini/config/mcp_config.json mcpServers
      {"serverUrl":"URL"}
      {"serverUrl":"URL"}
    copilot-cli (GitHub Copilot CLI)
      directory .copilot
      json map .copilot/mcp-config.json mcpServers
      {"url":"URL","type":"sse","tools":["*"]}
      {"url":"URL","type":"http","tools":["*"]}
    factory (Factory Droid)
      directory .factory
      json map .factory/mcp.json mcpServers
      {"type":"stdio","command":"thv","args":["proxy","stdio","fetch"],"disabled":false}
      {"url":"URL","type":"http","disabled":false}
    kimi-cli (Kimi CLI)
      directory .kimi
      json map .kimi/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    kimi-code (Kimi Code CLI)
      directory .kimi-code
      json map .kimi-code/mcp.json mcpServers
      {"url":"URL"}
      {"url":"URL"}
    mistral-vibe (Mistral Vibe)
      directory .vibe
      toml list .vibe/config.toml mcp_servers
      {"name":"fetch","transport":"stdio","command":"thv","args":["proxy","stdio","fetch"]}
      {"name":"fetch","url":"URL","transport":"streamable-http"}
    qoder (Qoder IDE)
      directory AppData/Roaming/Qoder/SharedClientCache
      json map AppData/Roaming/Qoder/SharedClientCache/mcp.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    qoder-cli (Qoder CLI)
      directory .qoder
      json map .qoder/settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    vscode-server (Visual Studio Code Server, on the remote machine)
      directory .vscode-server/data/User
      json map .vscode-server/data/User/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    xcode-codex (Codex in Xcode)
      directory Library/Developer/Xcode/CodingAssistant/codex
      toml map Library/Developer/Xcode/CodingAssistant/codex/config.toml mcp_servers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"url":"URL"}
    copilot-xcode (GitHub Copilot for Xcode)
      directory .config/github-copilot/xcode
      json map .config/github-copilot/xcode/mcp.json servers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"http"}
    cline-cli (Cline CLI)
      directory .cline
      json map .cline/data/settings/cline_mcp_settings.json mcpServers
      {"transport":{"url":"URL","type":"sse"}}
      {"transport":{"url":"URL","type":"streamableHttp"}}
    junie (JetBrains Junie)
      directory .junie
      json map .junie/mcp/mcp.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
    kilo-code (VS Code Kilo Code extension)
      directory AppData/Roaming/Code/User/globalStorage/kilocode.kilo-code/settings
      json map AppData/Roaming/Code/User/globalStorage/kilocode.kilo-code/settings/mcp_settings.json mcpServers
      {"url":"URL","type":"sse"}
      {"url":"URL","type":"streamable-http"}
    amazon-q (Amazon Q Developer)
      directory .aws/amazonq
      json map .aws/amazonq/mcp.json mcpServers
      {"command":"thv","args":["proxy","stdio","fetch"]}
      {"command":"thv","args":["proxy","stdio","fetch"]}
    "
  `);
});

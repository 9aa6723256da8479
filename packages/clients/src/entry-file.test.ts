import { clientApplications } from '@toolhive/contract/client-application';
import type { ClientApplication, ClientName } from '@toolhive/contract/client-application';
import { expect, test } from 'vitest';
import { entryValue } from './entry.ts';
import { changeEntries } from './entry-file.ts';

const vscode = `{
  // Asked for once, then remembered
  "inputs": [{ "type": "promptString", "id": "key", "password": true }],
  "servers": {
    "github": { "type": "http", "url": "https://api.example.com/mcp/" }, // work
    "local": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@example/server"],
      "env": { "KEY": "\${input:key}" },
    },
  },
}
`;

const settings = `{
    "editor.fontSize": 14,
    "amp.url": "https://ampcode.com/", // default
    /* servers */
    "amp.mcpServers": {
        "playwright": {
            "command": "npx",
            "args": ["-y", "@playwright/mcp@latest"]
        }
    },
    "files.autoSave": "afterDelay"
}
`;

const mcpServers = `{
  "mcpServers": {
    "memory": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-memory"],
      "disabled": false,
      "alwaysAllow": ["read_graph"]
    }
  }
}
`;

const existing: Record<ClientName, string> = {
  'roo-code': mcpServers,
  cline: mcpServers.replaceAll('  ', '\t'),
  'vscode-insider': vscode,
  vscode,
  cursor: '{"mcpServers":{"linear":{"url":"https://mcp.example.com/sse"}}}',
  'claude-code': `{
  "numStartups": 42,
  "projects": {
    "/home/ada/work": {
      "mcpServers": {},
      "history": [{ "display": "hello" }]
    }
  },
  "mcpServers": {},
  "userID": "0a1b"
}`,
  windsurf: mcpServers,
  'windsurf-jetbrains': '{ "mcpServers": { "a": { "serverUrl": "https://a.example/sse" } } }\n',
  'amp-cli': '{\n  "amp.notifications.enabled": true\n}\n',
  'amp-vscode': settings,
  'amp-vscode-insider': settings,
  'amp-cursor': settings,
  'amp-windsurf': '// Empty for now\n',
  'lm-studio': '{\r\n  "mcpServers": {}\r\n}\r\n',
  goose: `GOOSE_PROVIDER: anthropic
GOOSE_MODEL: &model some-model # the large one
extensions:
  developer:
    bundled: true
    enabled: true
    name: developer
    timeout: 300
    type: builtin
  # off until it works
  notes:
    args: [serve, --quiet]
    cmd: notes
    description: |
      Keeps notes.

      # not a comment
    enabled: false
    name: notes
    type: stdio

# experimental
GOOSE_PLANNER_MODEL: *model
`,
  trae: mcpServers,
  continue: `name: Local Assistant
version: 1.0.0
schema: v1
models:
  - name: Autodetect
    provider: ollama
    model: AUTODETECT
mcpServers:
- uses: example/browser # from the hub
- name: files
  command: npx
  args:
  - "-y"
  - "@modelcontextprotocol/server-filesystem"
context:
- provider: code
`,
  codex: `# Codex
model = "gpt-5.5" # the usual one

[mcp_servers.github] # work
command = 'npx'
args = [
  "-y",
  "@example/server", # pinned elsewhere
]

[mcp_servers.github.env]
KEY = "not-a-real-key"

[projects."/home/ada/work"]
trust_level = "trusted"
`,
  'claude-desktop': mcpServers,
  'gemini-cli': `{
  "security": { "auth": { "selectedType": "oauth-personal" } },
  "mcpServers": {
    // Internal
    "search": { "httpUrl": "https://mcp.example.com/mcp", "timeout": 5000 }
  }
}
`,
  'qwen-code': '{ "$version": 3 }\n',
  zed: `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "postgres": { "source": "custom", "command": "npx", "args": ["-y", "@example/postgres"], },
  },
}
`,
  opencode: `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "files": { "type": "local", "command": ["npx", "-y", "@example/files"], "enabled": true }
  }
}
`,
  kiro: '{\n  "mcpServers": {},\n  "powers": {}\n}\n',
  antigravity: mcpServers,
  'antigravity-cli': '{"mcpServers": {}}',
  'copilot-cli': mcpServers,
  factory: '{\n\t"mcpServers": {\n\t}\n}\n',
  'kimi-cli': mcpServers,
  'kimi-code': '{}',
  'mistral-vibe': `active_model = "devstral"
mcp_servers = []
textual_theme = "dark"

[[providers]]
name = "mistral"
`,
  qoder: mcpServers,
  'qoder-cli': '{\n  "model": "auto"\n}\n',
  'vscode-server': vscode,
  'xcode-codex': '[mcp_servers]\r\n[mcp_servers.a]\r\nurl = "https://a.example/mcp"\r\n',
  'copilot-xcode': '{ "servers": {} }\n',
  'cline-cli':
    '{\n  "mcpServers": {\n    "a": { "transport": { "type": "stdio", "command": "a" } }\n  }\n}\n',
  junie: '{\n    "mcpServers": {\n        "boost": {\n            "command": "php"\n        }\n    }\n}\n',
  'kilo-code':
    '{"mcpServers":{"a":{"command":"npx","args":["-y","a"],"alwaysAllow":["b"],"disabled":false}}}',
  'amazon-q': mcpServers,
};

/** Where there was no place for entries, an empty one stays. */
const emptied: Partial<Record<ClientName, string>> = {
  'amp-cli': '{\n  "amp.notifications.enabled": true,\n  "amp.mcpServers": {}\n}\n',
  'amp-windsurf': '// Empty for now\n{\n  "amp.mcpServers": {}\n}\n',
  'qwen-code': '{ "$version": 3, "mcpServers":{} }\n',
  factory: '{\n\t"mcpServers": {}\n}\n',
  'kimi-code': '{\n  "mcpServers": {}\n}',
  'mistral-vibe': existing['mistral-vibe'].replace('mcp_servers = []\n', ''),
  'qoder-cli': '{\n  "model": "auto",\n  "mcpServers": {}\n}\n',
};

const added = (application: ClientApplication) =>
  new Map(
    [
      { name: 'fetch', url: 'http://localhost:8081/sse#fetch', transport: 'sse' } as const,
      { name: 'github', url: 'http://localhost:8082/mcp', transport: 'streamable-http' } as const,
    ]
      .map((entry) => ({ ...entry, name: `${entry.name}-1` }))
      .map((entry) => [entry.name, entryValue(application, entry, ['/usr/bin/thv'])]),
  );

const written = (text: (application: ClientApplication) => string): string =>
  clientApplications
    .map((application) => {
      const source = { path: '/home/ada/file', text: text(application) };
      return `\n== ${application.id}\n${changeEntries(source, application, added(application))}`;
    })
    .join('');

test('writes a file of each application from scratch', () => {
  expect(written(() => '')).toMatchInlineSnapshot(`
    "
    == roo-code
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "streamable-http"
        }
      }
    }

    == cline
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "streamableHttp"
        }
      }
    }

    == vscode-insider
    {
      "servers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == vscode
    {
      "servers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == cursor
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == claude-code
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == windsurf
    {
      "mcpServers": {
        "fetch-1": {
          "serverUrl": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "serverUrl": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == windsurf-jetbrains
    {
      "mcpServers": {
        "fetch-1": {
          "serverUrl": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "serverUrl": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == amp-cli
    {
      "amp.mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == amp-vscode
    {
      "amp.mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == amp-vscode-insider
    {
      "amp.mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == amp-cursor
    {
      "amp.mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == amp-windsurf
    {
      "amp.mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == lm-studio
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == goose
    extensions:
      fetch-1:
        name: fetch-1
        uri: http://localhost:8081/sse#fetch
        type: sse
        enabled: true
        timeout: 60
      github-1:
        name: github-1
        uri: http://localhost:8082/mcp
        type: streamable_http
        enabled: true
        timeout: 60

    == trae
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      }
    }

    == continue
    mcpServers:
      - name: fetch-1
        url: http://localhost:8081/sse#fetch
        type: sse
      - name: github-1
        url: http://localhost:8082/mcp
        type: streamable-http

    == codex
    [mcp_servers.fetch-1]
    command = "/usr/bin/thv"
    args = ["proxy", "stdio", "fetch-1"]

    [mcp_servers.github-1]
    url = "http://localhost:8082/mcp"

    == claude-desktop
    {
      "mcpServers": {
        "fetch-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "fetch-1"
          ]
        },
        "github-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "github-1"
          ]
        }
      }
    }

    == gemini-cli
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "httpUrl": "http://localhost:8082/mcp"
        }
      }
    }

    == qwen-code
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "httpUrl": "http://localhost:8082/mcp"
        }
      }
    }

    == zed
    {
      "context_servers": {
        "fetch-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "fetch-1"
          ]
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      }
    }

    == opencode
    {
      "mcp": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "remote",
          "enabled": true
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "remote",
          "enabled": true
        }
      }
    }

    == kiro
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      }
    }

    == antigravity
    {
      "mcpServers": {
        "fetch-1": {
          "serverUrl": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "serverUrl": "http://localhost:8082/mcp"
        }
      }
    }

    == antigravity-cli
    {
      "mcpServers": {
        "fetch-1": {
          "serverUrl": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "serverUrl": "http://localhost:8082/mcp"
        }
      }
    }

    == copilot-cli
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse",
          "tools": [
            "*"
          ]
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http",
          "tools": [
            "*"
          ]
        }
      }
    }

    == factory
    {
      "mcpServers": {
        "fetch-1": {
          "type": "stdio",
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "fetch-1"
          ],
          "disabled": false
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http",
          "disabled": false
        }
      }
    }

    == kimi-cli
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      }
    }

    == kimi-code
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      }
    }

    == mistral-vibe
    [[mcp_servers]]
    name = "fetch-1"
    transport = "stdio"
    command = "/usr/bin/thv"
    args = ["proxy", "stdio", "fetch-1"]

    [[mcp_servers]]
    name = "github-1"
    url = "http://localhost:8082/mcp"
    transport = "streamable-http"

    == qoder
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == qoder-cli
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == vscode-server
    {
      "servers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == xcode-codex
    [mcp_servers.fetch-1]
    command = "/usr/bin/thv"
    args = ["proxy", "stdio", "fetch-1"]

    [mcp_servers.github-1]
    url = "http://localhost:8082/mcp"

    == copilot-xcode
    {
      "servers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == cline-cli
    {
      "mcpServers": {
        "fetch-1": {
          "transport": {
            "url": "http://localhost:8081/sse#fetch",
            "type": "sse"
          }
        },
        "github-1": {
          "transport": {
            "url": "http://localhost:8082/mcp",
            "type": "streamableHttp"
          }
        }
      }
    }

    == junie
    {
      "mcpServers": {
        "fetch-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "fetch-1"
          ]
        },
        "github-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "github-1"
          ]
        }
      }
    }

    == kilo-code
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "streamable-http"
        }
      }
    }

    == amazon-q
    {
      "mcpServers": {
        "fetch-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "fetch-1"
          ]
        },
        "github-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "github-1"
          ]
        }
      }
    }
    "
  `);
});

test('writes into a file of each application that is in use', () => {
  expect(written(({ id }) => existing[id])).toMatchInlineSnapshot(`
    "
    == roo-code
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "streamable-http"
        }
      }
    }

    == cline
    {
    	"mcpServers": {
    		"memory": {
    			"command": "npx",
    			"args": ["-y", "@modelcontextprotocol/server-memory"],
    			"disabled": false,
    			"alwaysAllow": ["read_graph"]
    		},
    		"fetch-1": {
    			"url": "http://localhost:8081/sse#fetch",
    			"type": "sse"
    		},
    		"github-1": {
    			"url": "http://localhost:8082/mcp",
    			"type": "streamableHttp"
    		}
    	}
    }

    == vscode-insider
    {
      // Asked for once, then remembered
      "inputs": [{ "type": "promptString", "id": "key", "password": true }],
      "servers": {
        "github": { "type": "http", "url": "https://api.example.com/mcp/" }, // work
        "local": {
          "type": "stdio",
          "command": "npx",
          "args": ["-y", "@example/server"],
          "env": { "KEY": "\${input:key}" },
        },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        },
      },
    }

    == vscode
    {
      // Asked for once, then remembered
      "inputs": [{ "type": "promptString", "id": "key", "password": true }],
      "servers": {
        "github": { "type": "http", "url": "https://api.example.com/mcp/" }, // work
        "local": {
          "type": "stdio",
          "command": "npx",
          "args": ["-y", "@example/server"],
          "env": { "KEY": "\${input:key}" },
        },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        },
      },
    }

    == cursor
    {"mcpServers":{"linear":{"url":"https://mcp.example.com/sse"},"fetch-1":{"url":"http://localhost:8081/sse#fetch","type":"sse"},"github-1":{"url":"http://localhost:8082/mcp","type":"http"}}}
    == claude-code
    {
      "numStartups": 42,
      "projects": {
        "/home/ada/work": {
          "mcpServers": {},
          "history": [{ "display": "hello" }]
        }
      },
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      },
      "userID": "0a1b"
    }
    == windsurf
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "serverUrl": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "serverUrl": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == windsurf-jetbrains
    { "mcpServers": { "a": { "serverUrl": "https://a.example/sse" }, "fetch-1":{"serverUrl":"http://localhost:8081/sse#fetch","type":"sse"}, "github-1":{"serverUrl":"http://localhost:8082/mcp","type":"http"} } }

    == amp-cli
    {
      "amp.notifications.enabled": true,
      "amp.mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == amp-vscode
    {
        "editor.fontSize": 14,
        "amp.url": "https://ampcode.com/", // default
        /* servers */
        "amp.mcpServers": {
            "playwright": {
                "command": "npx",
                "args": ["-y", "@playwright/mcp@latest"]
            },
            "fetch-1": {
                "url": "http://localhost:8081/sse#fetch",
                "type": "sse"
            },
            "github-1": {
                "url": "http://localhost:8082/mcp",
                "type": "http"
            }
        },
        "files.autoSave": "afterDelay"
    }

    == amp-vscode-insider
    {
        "editor.fontSize": 14,
        "amp.url": "https://ampcode.com/", // default
        /* servers */
        "amp.mcpServers": {
            "playwright": {
                "command": "npx",
                "args": ["-y", "@playwright/mcp@latest"]
            },
            "fetch-1": {
                "url": "http://localhost:8081/sse#fetch",
                "type": "sse"
            },
            "github-1": {
                "url": "http://localhost:8082/mcp",
                "type": "http"
            }
        },
        "files.autoSave": "afterDelay"
    }

    == amp-cursor
    {
        "editor.fontSize": 14,
        "amp.url": "https://ampcode.com/", // default
        /* servers */
        "amp.mcpServers": {
            "playwright": {
                "command": "npx",
                "args": ["-y", "@playwright/mcp@latest"]
            },
            "fetch-1": {
                "url": "http://localhost:8081/sse#fetch",
                "type": "sse"
            },
            "github-1": {
                "url": "http://localhost:8082/mcp",
                "type": "http"
            }
        },
        "files.autoSave": "afterDelay"
    }

    == amp-windsurf
    // Empty for now
    {
      "amp.mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == lm-studio
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == goose
    GOOSE_PROVIDER: anthropic
    GOOSE_MODEL: &model some-model # the large one
    extensions:
      developer:
        bundled: true
        enabled: true
        name: developer
        timeout: 300
        type: builtin
      # off until it works
      notes:
        args: [serve, --quiet]
        cmd: notes
        description: |
          Keeps notes.

          # not a comment
        enabled: false
        name: notes
        type: stdio
      fetch-1:
        name: fetch-1
        uri: http://localhost:8081/sse#fetch
        type: sse
        enabled: true
        timeout: 60
      github-1:
        name: github-1
        uri: http://localhost:8082/mcp
        type: streamable_http
        enabled: true
        timeout: 60

    # experimental
    GOOSE_PLANNER_MODEL: *model

    == trae
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      }
    }

    == continue
    name: Local Assistant
    version: 1.0.0
    schema: v1
    models:
      - name: Autodetect
        provider: ollama
        model: AUTODETECT
    mcpServers:
    - uses: example/browser # from the hub
    - name: files
      command: npx
      args:
      - "-y"
      - "@modelcontextprotocol/server-filesystem"
    - name: fetch-1
      url: http://localhost:8081/sse#fetch
      type: sse
    - name: github-1
      url: http://localhost:8082/mcp
      type: streamable-http
    context:
    - provider: code

    == codex
    # Codex
    model = "gpt-5.5" # the usual one

    [mcp_servers.github] # work
    command = 'npx'
    args = [
      "-y",
      "@example/server", # pinned elsewhere
    ]

    [mcp_servers.github.env]
    KEY = "not-a-real-key"

    [projects."/home/ada/work"]
    trust_level = "trusted"

    [mcp_servers.fetch-1]
    command = "/usr/bin/thv"
    args = ["proxy", "stdio", "fetch-1"]

    [mcp_servers.github-1]
    url = "http://localhost:8082/mcp"

    == claude-desktop
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "fetch-1"
          ]
        },
        "github-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "github-1"
          ]
        }
      }
    }

    == gemini-cli
    {
      "security": { "auth": { "selectedType": "oauth-personal" } },
      "mcpServers": {
        // Internal
        "search": { "httpUrl": "https://mcp.example.com/mcp", "timeout": 5000 },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "httpUrl": "http://localhost:8082/mcp"
        }
      }
    }

    == qwen-code
    { "$version": 3, "mcpServers":{"fetch-1":{"url":"http://localhost:8081/sse#fetch"},"github-1":{"httpUrl":"http://localhost:8082/mcp"}} }

    == zed
    // Zed settings
    {
      "theme": "One Dark",
      "context_servers": {
        "postgres": { "source": "custom", "command": "npx", "args": ["-y", "@example/postgres"], },
        "fetch-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "fetch-1"
          ]
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        },
      },
    }

    == opencode
    {
      "$schema": "https://opencode.ai/config.json",
      "mcp": {
        "files": { "type": "local", "command": ["npx", "-y", "@example/files"], "enabled": true },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "remote",
          "enabled": true
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "remote",
          "enabled": true
        }
      }
    }

    == kiro
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      },
      "powers": {}
    }

    == antigravity
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "serverUrl": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "serverUrl": "http://localhost:8082/mcp"
        }
      }
    }

    == antigravity-cli
    {"mcpServers": {"fetch-1":{"serverUrl":"http://localhost:8081/sse#fetch"},"github-1":{"serverUrl":"http://localhost:8082/mcp"}}}
    == copilot-cli
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse",
          "tools": [
            "*"
          ]
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http",
          "tools": [
            "*"
          ]
        }
      }
    }

    == factory
    {
    	"mcpServers": {
    		"fetch-1": {
    			"type": "stdio",
    			"command": "/usr/bin/thv",
    			"args": [
    				"proxy",
    				"stdio",
    				"fetch-1"
    			],
    			"disabled": false
    		},
    		"github-1": {
    			"url": "http://localhost:8082/mcp",
    			"type": "http",
    			"disabled": false
    		}
    	}
    }

    == kimi-cli
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      }
    }

    == kimi-code
    {
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp"
        }
      }
    }
    == mistral-vibe
    active_model = "devstral"
    textual_theme = "dark"

    [[providers]]
    name = "mistral"

    [[mcp_servers]]
    name = "fetch-1"
    transport = "stdio"
    command = "/usr/bin/thv"
    args = ["proxy", "stdio", "fetch-1"]

    [[mcp_servers]]
    name = "github-1"
    url = "http://localhost:8082/mcp"
    transport = "streamable-http"

    == qoder
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == qoder-cli
    {
      "model": "auto",
      "mcpServers": {
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        }
      }
    }

    == vscode-server
    {
      // Asked for once, then remembered
      "inputs": [{ "type": "promptString", "id": "key", "password": true }],
      "servers": {
        "github": { "type": "http", "url": "https://api.example.com/mcp/" }, // work
        "local": {
          "type": "stdio",
          "command": "npx",
          "args": ["-y", "@example/server"],
          "env": { "KEY": "\${input:key}" },
        },
        "fetch-1": {
          "url": "http://localhost:8081/sse#fetch",
          "type": "sse"
        },
        "github-1": {
          "url": "http://localhost:8082/mcp",
          "type": "http"
        },
      },
    }

    == xcode-codex
    [mcp_servers]
    [mcp_servers.a]
    url = "https://a.example/mcp"

    [mcp_servers.fetch-1]
    command = "/usr/bin/thv"
    args = ["proxy", "stdio", "fetch-1"]

    [mcp_servers.github-1]
    url = "http://localhost:8082/mcp"

    == copilot-xcode
    { "servers": {"fetch-1":{"url":"http://localhost:8081/sse#fetch","type":"sse"},"github-1":{"url":"http://localhost:8082/mcp","type":"http"}} }

    == cline-cli
    {
      "mcpServers": {
        "a": { "transport": { "type": "stdio", "command": "a" } },
        "fetch-1": {
          "transport": {
            "url": "http://localhost:8081/sse#fetch",
            "type": "sse"
          }
        },
        "github-1": {
          "transport": {
            "url": "http://localhost:8082/mcp",
            "type": "streamableHttp"
          }
        }
      }
    }

    == junie
    {
        "mcpServers": {
            "boost": {
                "command": "php"
            },
            "fetch-1": {
                "command": "/usr/bin/thv",
                "args": [
                    "proxy",
                    "stdio",
                    "fetch-1"
                ]
            },
            "github-1": {
                "command": "/usr/bin/thv",
                "args": [
                    "proxy",
                    "stdio",
                    "github-1"
                ]
            }
        }
    }

    == kilo-code
    {"mcpServers":{"a":{"command":"npx","args":["-y","a"],"alwaysAllow":["b"],"disabled":false},"fetch-1":{"url":"http://localhost:8081/sse#fetch","type":"sse"},"github-1":{"url":"http://localhost:8082/mcp","type":"streamable-http"}}}
    == amazon-q
    {
      "mcpServers": {
        "memory": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-memory"],
          "disabled": false,
          "alwaysAllow": ["read_graph"]
        },
        "fetch-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "fetch-1"
          ]
        },
        "github-1": {
          "command": "/usr/bin/thv",
          "args": [
            "proxy",
            "stdio",
            "github-1"
          ]
        }
      }
    }
    "
  `);
});

test.each(clientApplications.map((application) => [application.id, application] as const))(
  'puts a file of %s back as it was when the entries go',
  (id, application) => {
    const put = changeEntries({ path: '/f', text: existing[id] }, application, added(application));
    const names = [...added(application).keys()];

    const removed = changeEntries(
      { path: '/f', text: put },
      application,
      new Map(names.map((name) => [name, undefined])),
    );

    expect(removed).toBe(emptied[id] ?? existing[id]);
  },
);

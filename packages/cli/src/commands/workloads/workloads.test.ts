import { expect, test } from 'vitest';
import { helpOf } from '../../help.ts';
import { program } from '../commands.ts';

test('the help of run says what it takes, by what it is about', () => {
  expect(helpOf(program, 'run')).toMatchInlineSnapshot(`
    "Runs a server in isolation behind a proxy, and prints its URL for clients.

    SOURCE is the name of a registry entry (filesystem), a package (npx://NAME, uvx://NAME, go://MODULE,
    each optionally with @VERSION), a local path (a directory with a package.json, pyproject.toml, or
    go.mod, a script, a wheel, or a .tgz archive), a bundle (.mcpb, .dxt) as a file or an https URL, a
    container image, the URL of a remote server, or the GitHub URL of a registered server. ToolHive
    passes everything after -- to the server unchanged.

    You can also paste the command of another program: npx, uvx, pipx run, go run, docker run, and
    similar ones, a command that adds a server to a client (claude mcp add, code --add-mcp), or an
    installation link (cursor:, vscode:). Put flags of thv run before the command.

    Usage:
      thv run [flags] [SOURCE] [-- ARGUMENTS...]

    Arguments:
      source  The server to run

    Flags:
          --name NAME         The workload name. By default, derived from SOURCE
          --group GROUP       The group of the workload (default: default)
      -l, --label KEY=VALUE   A label for the workload (can be repeated)
          --dry-run           Show the server's access without running the server
      -f, --foreground        Stay attached and show the server's output. Ctrl-C removes the workload
          --from-config FILE  Run an exported run config instead of SOURCE and other flags
          --format FORMAT     The output format (one of text, json; default: text)
          --debug             Show requests to the daemon and causes of failures on standard error

    Server:
          --transport KIND               The server's transport. By default, the registry entry's, or
                                         else stdio (one of stdio, sse, streamable-http)
      -e, --env NAME=VALUE               An environment variable for the server (can be repeated)
          --url-variable NAME=VALUE      A variable in the URL of a remote registry entry (can be
                                         repeated)
          --env-file FILE                A file of environment variables, one NAME=VALUE per line. --env
                                         has precedence
          --env-file-dir FOLDER          A directory with environment files. --env-file has precedence
          --secret NAME,target=VARIABLE  A stored secret for the server, and the environment variable
                                         that receives it (can be repeated)
          --config KEY=VALUE             A value that a bundle asks for. The server can use the path of
                                         a directory or file, read-only with :ro at the end (can be
                                         repeated)
          --store-secrets                Store pasted credentials as secrets without asking
          --target-port PORT             The port that an HTTP server listens on. 0 uses the registry
                                         entry's (default: 0)
          --target-host HOST             The host that an HTTP server listens on (default: 127.0.0.1)
          --ca-cert FILE                 An additional certificate authority for package downloads
          --with PACKAGE                 An additional Python package for a uvx:// server, for example
                                         mcp<2 (can be repeated)
          --python VERSION               The Python version of a uvx:// server or a bundle, for example
                                         3.12
          --exclude-newer DATE           Only Python packages from before the end of this day, for an
                                         older uvx:// server
          --prerelease MODE              Which pre-releases of Python packages a uvx:// server can have
                                         (one of allow, disallow, if-necessary, explicit,
                                         if-necessary-or-explicit)
          --allow-scripts PACKAGE        An npm package whose install scripts run, in a sandbox that
                                         reaches only the package registry (can be repeated)
          --image-verification MODE      What to do about a registry image with a missing or invalid
                                         signature: warn, refuse it, or skip the check (one of warn,
                                         enabled, disabled; default: warn)

    Permissions:
      -v, --volume HOST:CONTAINER[:ro]  A file or directory to mount, as SOURCE:TARGET[:ro] (can be
                                        repeated)
          --ephemeral                   Delete the server's home directory when it stops. Without this
                                        flag, ToolHive keeps it until you remove the workload
          --permission-profile PROFILE  none, public, network, or a JSON file. By default, the registry
                                        entry's, or else public
          --network MODE                A network of the container engine, or none. Overrides the
                                        profile
          --allow-local-port PORT       A TCP port of this machine that the server reaches at its
                                        localhost, for example of a database (can be repeated)
      -p, --publish PORT[:SERVER_PORT]  A server port that local programs and browsers reach, for
                                        example a browser that returns from a sign-in page (can be
                                        repeated)
          --isolate-network             Enforce the profile's hosts and ports, which is the default.
                                        With =false, the server reaches every host
          --accept-risks                Give the server dangerous access without asking, for example a
                                        mount of a home directory or the network of this machine
          --learn                       Allow every public host and record the hosts that the server
                                        uses. Create a profile with \`thv learn NAME --stop\`
          --ignore-globally             Hide the files that your global ignore file names, in every
                                        mounted directory (default: true)
          --print-resolved-overlays     List the files that ignore files hide from the server

    Resources:
          --memory SIZE        Limit on memory for all server processes. The default is 2 GiB
          --cpus NUMBER        Limit on processor time for the server, in cores. The default is 2
          --pids NUMBER        Limit on server processes and threads. The default is 512
          --disk SIZE          Limit on files in the home directory and in /tmp. The default is 2 GiB
          --open-files NUMBER  Limit on open files per server process. The default is 4096

    Proxy:
          --host ADDRESS         The address that the proxy binds to (default: 127.0.0.1)
          --insecure-no-auth     Let other machines use the workload without authentication, with a
                                 --host beyond this machine
          --proxy-port PORT      The proxy port. 0 selects a free port (default: 0)
          --proxy-mode MODE      The endpoint in the workload URL. The proxy serves both (one of sse,
                                 streamable-http; default: streamable-http)
          --sessions KIND        Whether each client session has a separate server process. By default,
                                 the registry entry's value, or else auto, which shares processes if the
                                 server keeps nothing for a session (one of auto, own, shared)
          --tools NAME           A tool that clients can use. All other tools are hidden (can be
                                 repeated)
          --tools-override FILE  A JSON file with other names and descriptions for tools
          --tool-pinning MODE    What to do about changed tools: report them (warn, the default), hold
                                 them back until you approve them (block), or nothing (off) (one of
                                 warn, block, off)
          --trust-proxy-headers  Trust the X-Forwarded-* headers. Use only behind a reverse proxy that
                                 all requests pass
          --allow-origin ORIGIN  Let web pages with this origin use the server from a browser (CORS),
                                 for example http://localhost:6274 (can be repeated)
          --authz-config FILE    A JSON or YAML file with Cedar policies for tools, prompts, and
                                 resources
          --enable-audit         Record every call in the audit log
          --audit-config FILE    A JSON file with the audit configuration: event types, bodies, and the
                                 log file

    Client authentication:
          --oidc-issuer URL             Accept the tokens of this OpenID provider
          --oidc-audience NAME          The required audience of tokens. Required with the other --oidc
                                        flags
          --oidc-jwks-url URL           The URL of the signing keys, if the issuer does not publish it
          --oidc-introspection-url URL  The introspection URL for opaque tokens
          --oidc-client-id ID           Client ID for token introspection
          --oidc-client-secret SECRET   Client secret for token introspection. Prefer
                                        TOOLHIVE_OIDC_CLIENT_SECRET, which is not visible to other users
          --resource-url URL            The resource URL in the protected resource metadata (RFC 9728)
          --oidc-scopes SCOPE           The required scopes of tokens (can be repeated)
          --jwks-auth-token-file FILE   A file with the bearer token for requests to the signing keys
          --jwks-allow-private-ip       Allow the provider to have an address in a private network
          --oidc-insecure-allow-http    Allow plain http for requests to the provider
          --thv-ca-bundle FILE          A file with CA certificates for requests to the provider

    Token exchange (RFC 8693):
          --token-exchange-url URL        The token exchange endpoint
          --token-exchange-audience NAME  The audience of the new token
          --token-exchange-client-id ID   The client ID for the token exchange
          --token-exchange-client-secret SECRET
                                          The client secret for the token exchange. Prefer a file,
                                          because other users can see command lines
          --token-exchange-client-secret-file FILE
                                          A file with the client secret
          --token-exchange-header-name HEADER
                                          The header for the new token, instead of Authorization
          --token-exchange-scopes SCOPE   An OAuth scope to request (can be repeated)
          --token-exchange-subject-token-type TYPE
                                          The type of the token that callers send (one of access_token,
                                          id_token)

    Remote authentication:
          --remote-auth                Sign in first. Without this flag, ToolHive signs in when the
                                       server requires it
          --remote-auth-issuer URL     The authorization server, if the remote server does not name it
          --remote-auth-authorize-url URL
                                       The authorization endpoint, if the issuer does not publish it
          --remote-auth-token-url URL  The token endpoint, if the issuer does not publish it
          --remote-auth-client-id ID   The OAuth client ID. Without it, ToolHive registers a client
          --remote-auth-client-secret SECRET
                                       The OAuth client secret. Prefer a file, because other users can
                                       see command lines
          --remote-auth-client-secret-file FILE
                                       A file with the client secret
          --remote-auth-scopes SCOPE   An OAuth scope to request (can be repeated)
          --remote-auth-resource URI   The resource indicator to request a token for, or none if the
                                       authorization server does not support resource indicators
          --remote-auth-skip-browser   Print the sign-in URL instead of opening a browser
          --remote-auth-callback-port PORT
                                       The local port for the browser's redirect. 0 selects a free port
                                       (default: 0)
          --remote-auth-timeout TIME   The time limit for the sign-in (default: 5m)
          --remote-forward-headers HEADER=VALUE
                                       A header for every request to a remote server (can be repeated)
          --remote-forward-headers-secret HEADER=SECRET
                                       A header for every request to a remote server, and the stored
                                       secret with its value (can be repeated)

    Telemetry:
          --otel-endpoint HOST:PORT  The OpenTelemetry collector to send to (OTLP over HTTP)
          --otel-service-name NAME   The service name in traces and metrics
          --otel-tracing-enabled     Send traces (default: true)
          --otel-metrics-enabled     Send metrics (default: true)
          --otel-sampling-rate RATE  The share of traces to send, from 0.0 to 1.0 (default: 0.1)
          --otel-headers NAME=VALUE  A header for the collector (can be repeated)
          --otel-insecure            Use plain http instead of https
          --otel-enable-prometheus-metrics-path
                                     Serve Prometheus metrics at /metrics on the proxy port
          --otel-env-vars NAME       A daemon environment variable to include in traces (can be
                                     repeated)
          --otel-custom-attributes NAME=VALUE,…
                                     Additional attributes of all traces and metrics

    Kubernetes:
          --kube-context NAME  Use the Kubernetes cluster of this kubeconfig context instead of this
                               machine
          --kubeconfig FILE    The kubeconfig file. The default is the value of KUBECONFIG, then
                               ~/.kube/config
          --namespace NAME     The namespace. The default is the namespace of the context
          --wait               Wait until the server in Kubernetes is ready (default: true)

    Examples:
      $ thv run filesystem --volume ~/notes:/projects -- /projects
      $ thv run npx://@modelcontextprotocol/server-everything
      $ thv run ./server.py --with mcp
      $ thv run ./notes.mcpb --config directory=~/notes:ro
      $ thv run npx -y @modelcontextprotocol/server-everything
      $ thv run --name github docker run -i --rm \\
          -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server
      $ thv run https://mcp.example.com/mcp --name example
      $ thv run uvx://mcp-server-time --name time --label team=research
      $ thv run github --secret github-token,target=GITHUB_PERSONAL_ACCESS_TOKEN
      $ thv run --from-config filesystem.json
    "
  `);
});

test('the help of rm', () => {
  expect(helpOf(program, 'rm')).toMatchInlineSnapshot(`
    "Stops workloads and removes them completely: containers, logs, stored files, and entries in client
    configuration files. On a terminal, asks before deleting stored files.

    Usage:
      thv rm [flags] [NAMES...]

    Arguments:
      names  The names of workloads

    Flags:
          --all            All workloads
          --group GROUP    Only workloads of this group
      -y, --yes            Skip the confirmation before removing stored files, all workloads, or a group
          --format FORMAT  The output format (one of text, json; default: text)
          --debug          Show requests to the daemon and causes of failures on standard error

    Examples:
      $ thv rm filesystem
      $ thv rm --group research --yes
    "
  `);
});

test('the help of logs leads to prune', () => {
  expect(helpOf(program, 'logs')).toMatchInlineSnapshot(`
    "Shows a server's output, or with --proxy its proxy log. ToolHive keeps both logs until you remove
    the workload.

    Usage:
      thv logs [flags] NAME
      thv logs COMMAND

    Arguments:
      name  The name of the workload

    Commands:
      prune  Remove the logs of removed workloads

    Flags:
      -f, --follow         Follow new output until Ctrl-C
      -p, --proxy          Show the proxy log instead
          --tail LINES     The maximum number of lines, counted from the end. The default is 100, or all
                           lines with --proxy
          --search TEXT    Only lines that contain this text, in any letter case
          --since TIME     Only lines from this time on: 2026-01-31T09:00:00Z, or a duration before now
                           such as 2h
          --until TIME     Only lines before this time, written like --since
          --format FORMAT  The output format (one of text, json; default: text)
          --debug          Show requests to the daemon and causes of failures on standard error

    Examples:
      $ thv logs filesystem
      $ thv logs filesystem --follow
      $ thv logs filesystem --proxy --tail 20
      $ thv logs filesystem --search error --since 2h
    "
  `);
});

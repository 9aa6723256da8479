import { expect, test } from 'vitest';
import { helpOf } from '../../help.ts';
import { program } from '../commands.ts';

test('the help of run says what it takes, by what it is about', () => {
  expect(helpOf(program, 'run')).toMatchInlineSnapshot(`
    "Runs a server isolated, with a proxy in front, and prints where clients reach it.

    SOURCE is the name of a registry entry (filesystem), a package (npx://NAME, uvx://NAME, go://MODULE,
    each with @VERSION if you like), a path of this machine (a directory with a package.json,
    pyproject.toml, or go.mod, a script, a wheel, or a .tgz archive), a container image, the URL of a
    remote server, or the GitHub URL of a registered server. ToolHive passes everything after -- to the
    server.

    You can also paste the command of another program: npx, uvx, pipx run, go run, docker run, and their
    like. Write flags of thv run in front of the command.

    Usage:
      thv run [flags] [SOURCE] [-- ARGUMENTS...]

    Arguments:
      source  What to run

    Flags:
          --name NAME         The name of the workload; derived from SOURCE when absent
          --group GROUP       The group of the workload (default: default)
      -l, --label KEY=VALUE   A label, to find the workload by (can be repeated)
          --dry-run           Show what the server could access, and run nothing
      -f, --foreground        Stay and show what the server writes; Ctrl-C removes the workload
          --from-config FILE  Run what \`thv export\` has written, instead of SOURCE and other flags
          --format FORMAT     How to print the result (one of text, json; default: text)
          --debug             Tell on standard error what is asked of the daemon, and why something
                              failed

    Server:
          --transport KIND               How the server talks; the registry knows, else stdio (one of
                                         stdio, sse, streamable-http)
      -e, --env NAME=VALUE               An environment variable for the server (can be repeated)
          --env-file FILE                A file of environment variables, one NAME=VALUE a line; --env
                                         counts more
          --env-file-dir FOLDER          A folder of such files; --env-file counts more
          --secret NAME,target=VARIABLE  A stored secret for the server, and the variable that receives
                                         it (can be repeated)
          --store-secrets                Store pasted credentials as secrets without asking
          --target-port PORT             The port that an HTTP server listens on; 0 is what the registry
                                         says (default: 0)
          --target-host HOST             Where an HTTP server listens (default: 127.0.0.1)
          --ca-cert FILE                 A certificate authority to trust while a package is made ready
          --with PACKAGE                 A further Python package for a uvx:// server, for example mcp<2
                                         (can be repeated)
          --python VERSION               The Python version of a uvx:// server, for example 3.12
          --allow-scripts PACKAGE        An npm package whose install scripts run, in a sandbox that
                                         reaches only the package registry (can be repeated)
          --image-verification MODE      What to do about an image from the registry whose signature is
                                         missing or wrong: note it, refuse it, or do not look (one of
                                         warn, enabled, disabled; default: warn)

    Permissions:
      -v, --volume HOST:CONTAINER[:ro]  A file or folder to share with the server (can be repeated)
          --ephemeral                   Delete the home directory of the server when it stops. Without
                                        this flag, it is kept until you remove the workload
          --permission-profile PROFILE  none, public, network, or a JSON file; the registry knows, else
                                        public
          --network MODE                A network of the container engine, or none; instead of that of
                                        the profile
          --isolate-network             Enforce the hosts and ports of the profile, as is done anyway;
                                        with =false, the server reaches everything
          --accept-risks                Give the server dangerous access without asking, for example a
                                        mount of a home directory or the network of this machine
          --learn                       Allow every public host and record which ones the server uses;
                                        \`thv learn NAME --stop\` makes a profile of them
          --ignore-globally             Hide the files that your global ignore file names, in every
                                        mounted directory (default: true)
          --print-resolved-overlays     List the files that ignore files hide from the server

    Resources:
          --memory SIZE        Limit on memory of all processes of the server; 2 GiB by default
          --cpus NUMBER        Limit on processor time of the server, in cores; 2 by default
          --pids NUMBER        Limit on processes and threads of the server; 512 by default
          --disk SIZE          Limit on files in the home directory of the server, and files in /tmp; 2
                               GiB by default
          --open-files NUMBER  Limit on open files of each process of the server; 4096 by default

    Proxy:
          --host ADDRESS         The address that the proxy binds to (default: 127.0.0.1)
          --insecure-no-auth     Let other machines use the workload without authentication, with a
                                 --host beyond this machine
          --proxy-port PORT      The port of the proxy; 0 is any free one (default: 0)
          --proxy-mode MODE      The endpoint in the workload URL; the proxy serves both (one of sse,
                                 streamable-http; default: streamable-http)
          --sessions KIND        Whether each client has a server process of its own; the registry
                                 knows, else own (one of own, shared)
          --tools NAME           A tool that clients may see, and no others than those that are named
                                 (can be repeated)
          --tools-override FILE  A JSON file that gives tools other names and descriptions
          --tool-pinning MODE    Report changed tools of the server (warn), hold them back until you
                                 approve them (block), or neither; warn if not given (one of warn,
                                 block, off)
          --trust-proxy-headers  Trust the X-Forwarded-* headers of a reverse proxy in front, which all
                                 requests pass
          --authz-config FILE    A JSON or YAML file of Cedar policies: who may use which tools,
                                 prompts, and resources
          --enable-audit         Record every call in the audit log
          --audit-config FILE    A JSON file with the audit configuration: event types, bodies, and the
                                 log file

    Client authentication:
          --oidc-issuer URL             Accept the tokens of this OpenID provider
          --oidc-audience NAME          Whom those tokens must be meant for; asked for with every other
                                        --oidc flag
          --oidc-jwks-url URL           Where the keys of the provider are; the issuer knows
          --oidc-introspection-url URL  Where tokens that are no JWTs are looked up
          --oidc-client-id ID           As whom they are looked up
          --oidc-client-secret SECRET   The secret of that client; better in
                                        TOOLHIVE_OIDC_CLIENT_SECRET, which nobody sees
          --resource-url URL            What the tokens are for, as told to callers who have none (RFC
                                        9728)
          --oidc-scopes SCOPE           The scopes that every token must have (can be repeated)
          --jwks-auth-token-file FILE   A file with the bearer token that is sent when the keys of the
                                        provider are read
          --jwks-allow-private-ip       The provider may have an address of a private network
          --oidc-insecure-allow-http    The provider may be reached over plain http
          --thv-ca-bundle FILE          Certificate authorities to trust when the provider is asked

    Token exchange (RFC 8693):
          --token-exchange-url URL        Where tokens are traded
          --token-exchange-audience NAME  Whom the new token is meant for
          --token-exchange-client-id ID   Who trades
          --token-exchange-client-secret SECRET
                                          The secret of that client; better in a file, as others see the
                                          command line
          --token-exchange-client-secret-file FILE
                                          A file with the secret of that client
          --token-exchange-header-name HEADER
                                          The header for the new token; Authorization when absent
          --token-exchange-scopes SCOPE   What to ask permission for (can be repeated)
          --token-exchange-subject-token-type TYPE
                                          What kind of token the caller sends (one of access_token,
                                          id_token)

    Remote authentication:
          --remote-auth                Sign in; that is done anyway when the server asks for it
          --remote-auth-issuer URL     The authorization server; the remote server usually names it
          --remote-auth-authorize-url URL
                                       Where a person signs in, when the issuer does not say
          --remote-auth-token-url URL  Where tokens come from, when the issuer does not say
          --remote-auth-client-id ID   As which client to sign in; one is registered when absent
          --remote-auth-client-secret SECRET
                                       The secret of that client; better in a file, as others see the
                                       command line
          --remote-auth-client-secret-file FILE
                                       A file with the secret of that client
          --remote-auth-scopes SCOPE   What to ask permission for (can be repeated)
          --remote-auth-skip-browser   Print the address to sign in at instead of opening a browser
          --remote-auth-callback-port PORT
                                       Where the browser comes back to on this machine; 0 is any free
                                       port (default: 0)
          --remote-auth-timeout TIME   How long to wait for somebody to sign in (default: 5m)

    Telemetry:
          --otel-endpoint HOST:PORT  The OpenTelemetry collector to send to (OTLP over HTTP)
          --otel-service-name NAME   The service name in traces and metrics
          --otel-tracing-enabled     Send traces (default: true)
          --otel-metrics-enabled     Send metrics (default: true)
          --otel-sampling-rate RATE  The share of traces to send, from 0.0 to 1.0 (default: 0.1)
          --otel-headers NAME=VALUE  A header for the collector (can be repeated)
          --otel-insecure            Use plain http instead of https
          --otel-enable-prometheus-metrics-path
                                     Let Prometheus fetch metrics from /metrics on the port of the proxy
          --otel-env-vars NAME       An environment variable of the daemon to include in traces (can be
                                     repeated)
          --otel-custom-attributes NAME=VALUE,…
                                     Further attributes of all traces and metrics

    Examples:
      $ thv run filesystem --volume ~/notes:/projects -- /projects
      $ thv run npx://@modelcontextprotocol/server-everything
      $ thv run ./server.py --with mcp
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
    "Stops workloads and removes everything of them: containers, logs, the files that their servers have
    stored, and their entries in the files of clients. On a terminal, asks before it deletes stored
    files.

    Usage:
      thv rm [flags] [NAMES...]

    Arguments:
      names  The names of workloads

    Flags:
          --all            Every workload
          --group GROUP    Only workloads of this group
      -y, --yes            Do not ask before removing stored files, all workloads, or a group
          --format FORMAT  How to print the result (one of text, json; default: text)
          --debug          Tell on standard error what is asked of the daemon, and why something failed

    Examples:
      $ thv rm filesystem
      $ thv rm --group research --yes
    "
  `);
});

test('the help of logs leads to prune', () => {
  expect(helpOf(program, 'logs')).toMatchInlineSnapshot(`
    "Shows what a server wrote, or with --proxy what its proxy noted. Both are kept until the workload is
    removed.

    Usage:
      thv logs [flags] NAME
      thv logs COMMAND

    Arguments:
      name  The name of the workload

    Commands:
      prune  Remove logs of workloads that are gone

    Flags:
      -f, --follow         Go on with what is written from now on, until Ctrl-C
      -p, --proxy          What the proxy noted instead
          --tail LINES     At most so many lines, counted from the end; 100, or with --proxy all of them
          --format FORMAT  How to print the result (one of text, json; default: text)
          --debug          Tell on standard error what is asked of the daemon, and why something failed

    Examples:
      $ thv logs filesystem
      $ thv logs filesystem --follow
      $ thv logs filesystem --proxy --tail 20
    "
  `);
});

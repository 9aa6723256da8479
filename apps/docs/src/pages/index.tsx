import Link from '@docusaurus/Link';
import useDocusaurusContext from '@docusaurus/useDocusaurusContext';
import Layout from '@theme/Layout';
import type { ReactNode } from 'react';
import { Command } from '@site/src/components/Command';
import { ProductCard, ProductGrid } from '@site/src/components/ProductCard';
import styles from './index.module.css';

/** The front door: what this is, and the way to a first running server, in one screen. */
export default function Home(): ReactNode {
  const { siteConfig } = useDocusaurusContext();
  return (
    <Layout description="Run MCP servers that you do not have to trust: isolated, behind a proxy, with what you grant and nothing else.">
      <main>
        <header className={styles.hero}>
          <div className={styles.claim}>
            <p className={styles.product}>{siteConfig.title}</p>
            <h1>{siteConfig.tagline}</h1>
            <p className={styles.lead}>
              An MCP server is somebody else’s program, with your files and your network within reach.
              ToolHive runs each one isolated, with what you grant and nothing else, behind a proxy that any
              client can talk to.
            </p>
            <div className={styles.ways}>
              <Link className="button button--primary button--lg" to="/toolhive/tutorials/quickstart-cli">
                Run your first server
              </Link>
              <Link className="button button--secondary button--lg" to="/toolhive/">
                Read the introduction
              </Link>
            </div>
          </div>
          <div className={styles.screen}>
            <Command output={run}>thv run filesystem --volume ~/notes:/projects</Command>
            <p className={styles.caption}>
              Give that address to your client. The server sees <code>~/notes</code> and nothing else of
              yours: no home, no environment, no network.
            </p>
          </div>
        </header>
        <Steps />
        <Ways />
        <Servers />
      </main>
    </Layout>
  );
}

/** As it was printed. */
const run = `- installing @modelcontextprotocol/server-filesystem 2026.8.31
- installed @modelcontextprotocol/server-filesystem 2026.8.31 in 2.1 s
- starting npx://@modelcontextprotocol/server-filesystem@2026.8.31
- waiting for its first answer
filesystem runs at http://127.0.0.1:20136/mcp`;

function Steps(): ReactNode {
  return (
    <section className={styles.section} aria-labelledby="steps">
      <h2 id="steps">Three commands to a first server</h2>
      <ol className={styles.steps}>
        <li>
          <h3>Look at your machine</h3>
          <Command>thv runtime check</Command>
          <p>Says whether servers run in containers or in sandboxes here, and what cannot be enforced.</p>
        </li>
        <li>
          <h3>Run a server</h3>
          <Command>thv run fetch</Command>
          <p>From the registry, a package of npm, PyPI or Go, an image, or the address of a remote server.</p>
        </li>
        <li>
          <h3>Connect your client</h3>
          <Command>thv client setup</Command>
          <p>Writes the entry into the file of your application, and keeps it as it should be.</p>
        </li>
      </ol>
    </section>
  );
}

function Ways(): ReactNode {
  return (
    <section className={styles.section} aria-labelledby="ways">
      <h2 id="ways">Use it where you work</h2>
      <ProductGrid columns={3}>
        <ProductCard
          title="In a terminal"
          href="/toolhive/guides-cli/"
          action="CLI guides"
          variant="featured"
        >
          <p>
            <code>thv</code> runs, lists and stops servers, keeps secrets and connects clients. Ready to use.
          </p>
        </ProductCard>
        <ProductCard title="In a browser" href="/toolhive/guides-ui/" action="UI guides">
          <p>Run and test servers, connect clients, and control permissions without a terminal.</p>
        </ProductCard>
        <ProductCard title="In a cluster" href="/toolhive/guides-k8s/" action="Operator guides">
          <p>Servers as resources of Kubernetes, for a whole team. Being built.</p>
        </ProductCard>
      </ProductGrid>
    </section>
  );
}

const servers = [
  ['fetch', 'Web pages, as Markdown'],
  ['filesystem', 'Files in folders that you share'],
  ['github', 'Repositories, issues, pull requests'],
  ['osv', 'Known vulnerabilities of packages'],
  ['playwright', 'A real browser'],
  ['context7', 'Current documentation of libraries'],
  ['k8s', 'Resources of a cluster'],
  ['notion-remote', 'Notion, through its own server'],
  ['meta-mcp', 'The right tool among many'],
] as const;

function Servers(): ReactNode {
  return (
    <section className={styles.section} aria-labelledby="servers">
      <h2 id="servers">Servers to begin with</h2>
      <ul className={styles.servers}>
        {servers.map(([name, description]) => (
          <li key={name}>
            <Link className={styles.link} to={`/toolhive/guides-mcp/${name}`}>
              <strong>{name}</strong>
              <span>{description}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

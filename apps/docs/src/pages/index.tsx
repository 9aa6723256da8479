import Link from '@docusaurus/Link';
import useDocusaurusContext from '@docusaurus/useDocusaurusContext';
import Layout from '@theme/Layout';
import type { ReactNode } from 'react';
import { BeforeAfter } from '@site/src/components/BeforeAfter';
import { Command } from '@site/src/components/Command';
import { Refusal } from '@site/src/components/Refusal';
import { ProductCard, ProductGrid } from '@site/src/components/ProductCard';
import styles from './index.module.css';

/** The home page: the purpose of ToolHive, and the first steps, in one screen. */
export default function Home(): ReactNode {
  const { siteConfig } = useDocusaurusContext();
  return (
    <Layout description="Run MCP servers in isolation, behind a proxy, with only the files and network hosts that you grant.">
      <main>
        <header className={styles.hero}>
          <div className={styles.claim}>
            <p className={styles.product}>{siteConfig.title}</p>
            <h1>{siteConfig.tagline}</h1>
            <p className={styles.lead}>
              Run any MCP server without giving it your machine. One daemon, one URL for all your clients, no
              Docker needed.
            </p>
            <div className={styles.ways}>
              <Link className="button button--primary button--lg" to="/toolhive/quickstart">
                Move your servers
              </Link>
              <Link className="button button--secondary button--lg" to="/toolhive/tutorials/quickstart-cli">
                Run your first server
              </Link>
            </div>
          </div>
          <div className={styles.screen}>
            <Refusal />
            <p className={styles.caption}>
              A web page told the model to send data to another host. The server can only reach the host that
              you allowed, so the name was never resolved. <Link to={refusal}>Try it yourself</Link>.
            </p>
          </div>
        </header>
        <Move />
        <Steps />
        <Ways />
        <Servers />
      </main>
    </Layout>
  );
}

const refusal = '/toolhive/guides-cli/network-isolation#see-a-refused-connection';

function Move(): ReactNode {
  return (
    <section className={styles.section} aria-labelledby="move">
      <h2 id="move">One command moves everything</h2>
      <p>
        <code>thv adopt</code> moves the servers of all your clients behind ToolHive, and{' '}
        <code>thv adopt --undo</code> restores every byte of their files.
      </p>
      <BeforeAfter />
    </section>
  );
}

function Steps(): ReactNode {
  return (
    <section className={styles.section} aria-labelledby="steps">
      <h2 id="steps">Three steps to a first server</h2>
      <ol className={styles.steps}>
        <li>
          <h3>Install thv</h3>
          <Command>thv runtime check</Command>
          <p>
            <Link to="/toolhive/guides-cli/install">Install thv</Link> with Node.js and a{' '}
            <Link to="/toolhive/requirements">runtime</Link>, and check your machine.
          </p>
        </li>
        <li>
          <h3>Run a server</h3>
          <Command>thv run filesystem --volume ~/notes:/projects</Command>
          <p>
            The server can access one directory and no host. Use the registry, an npm, PyPI, or Go package, an
            image, or a URL.
          </p>
        </li>
        <li>
          <h3>Connect your client</h3>
          <Command>thv client setup</Command>
          <p>Adds the server to your client’s configuration file and keeps the entry up to date.</p>
        </li>
      </ol>
    </section>
  );
}

function Ways(): ReactNode {
  return (
    <section className={styles.section} aria-labelledby="ways">
      <h2 id="ways">Use ToolHive where you work</h2>
      <ProductGrid columns={3}>
        <ProductCard
          title="In a terminal"
          href="/toolhive/guides-cli/"
          action="CLI guides"
          variant="featured"
        >
          <p>
            <code>thv</code> runs, lists, and stops servers, stores secrets, and connects clients.
          </p>
        </ProductCard>
        <ProductCard title="In a browser" href="/toolhive/guides-ui/" action="UI guides">
          <p>Run and test servers, connect clients, and control permissions without a terminal.</p>
        </ProductCard>
        <ProductCard title="In a cluster" href="/toolhive/guides-k8s/" action="Operator guides">
          <p>Run servers for a team as custom resources in a cluster.</p>
        </ProductCard>
      </ProductGrid>
    </section>
  );
}

const servers = [
  ['fetch', 'Web pages, as Markdown'],
  ['filesystem', 'Files in directories that you mount'],
  ['github', 'Repositories, issues, pull requests'],
  ['osv', 'Known vulnerabilities in packages'],
  ['playwright', 'A headless browser'],
  ['context7', 'Current library documentation'],
  ['k8s', 'Kubernetes cluster resources'],
  ['notion-remote', 'Notion pages, with OAuth'],
  ['meta-mcp', 'The right tool among many'],
] as const;

function Servers(): ReactNode {
  return (
    <section className={styles.section} aria-labelledby="servers">
      <h2 id="servers">Popular servers</h2>
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

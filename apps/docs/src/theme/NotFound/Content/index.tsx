import Link from '@docusaurus/Link';
import Heading from '@theme/Heading';
import type { ReactNode } from 'react';

/** The content of the page for unknown paths. */
// Docusaurus insists on a default export.
export default function NotFoundContent(): ReactNode {
  return (
    <main className="container margin-vert--xl">
      <div className="row">
        <div className="col col--6 col--offset-3">
          <Heading as="h1">Page not found</Heading>
          <p>
            The address may contain a mistake, or the page may have moved. If you followed a link, contact the
            owner of the linking page.
          </p>
          <p>
            <Link to="/toolhive/">Go to the introduction</Link>,{' '}
            <Link to="/search">search the documentation</Link>, or <Link to="/">start at the front page</Link>
            .
          </p>
        </div>
      </div>
    </main>
  );
}

import ErrorBoundary from '@docusaurus/ErrorBoundary';
import Head from '@docusaurus/Head';
import Layout from '@theme/Layout';
import type { ReactNode } from 'react';

interface ErrorProps {
  error: Error;
  tryAgain: () => void;
}

/** The fallback for errors without another handler. The fallback has no frame if the frame caused the error. */
// Docusaurus insists on a default export.
export default function PageError({ error, tryAgain }: ErrorProps): ReactNode {
  const report = <Report error={error} tryAgain={tryAgain} />;
  return (
    <ErrorBoundary fallback={() => report}>
      <Head>
        <title>This page crashed</title>
      </Head>
      <Layout>{report}</Layout>
    </ErrorBoundary>
  );
}

function Report({ error, tryAgain }: ErrorProps): ReactNode {
  return (
    <main className="container margin-vert--xl">
      <h1>This page crashed.</h1>
      <p>
        <button type="button" className="button button--primary" onClick={tryAgain}>
          Try again
        </button>
      </p>
      <p>{error.message}</p>
    </main>
  );
}

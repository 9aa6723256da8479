import { useLocation } from '@docusaurus/router';
import Footer from '@theme-original/DocItem/Footer';
import { lazy, Suspense } from 'react';
import type { ReactNode } from 'react';
import { isIssueForm } from '@site/src/components/send-feedback';
import { useFeedback } from '@site/src/components/use-feedback';

// Fetched only where it is switched on.
const Helpful = lazy(async () => ({ default: (await import('@site/src/components/Helpful')).Helpful }));

/** The end of a page: the feedback question, if the site collects feedback, and the source links of the theme. */
// Docusaurus insists on a default export.
export default function DocItemFooter(): ReactNode {
  const to = useFeedback();
  const { pathname } = useLocation();
  return (
    <>
      {to !== undefined && !isIssueForm(to) && (
        <Suspense>
          <Helpful key={pathname} to={to} />
        </Suspense>
      )}
      <Footer />
    </>
  );
}

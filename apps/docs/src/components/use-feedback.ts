import useDocusaurusContext from '@docusaurus/useDocusaurusContext';

/** The feedback address. Undefined if the site collects no feedback. */
export function useFeedback(): string | undefined {
  const { customFields = {} } = useDocusaurusContext().siteConfig;
  return (customFields['settings'] as { feedback?: string }).feedback;
}

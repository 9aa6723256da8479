import useDocusaurusContext from '@docusaurus/useDocusaurusContext';

/** Where readers' words go to; undefined where nobody wants them. */
export function useFeedback(): string | undefined {
  const { customFields = {} } = useDocusaurusContext().siteConfig;
  return (customFields['settings'] as { feedback?: string }).feedback;
}

import ExecutionEnvironment from '@docusaurus/ExecutionEnvironment';
import siteConfig from '@generated/docusaurus.config';

/** The version of the counting script interface that this page uses. */
const version = '1.5.0';

/**
 * Loads the script that counts page views, if one is configured. The script comes from this site, so no third party
 * receives data about readers. A development server loads a variant that only logs the events.
 */
function loadAnalytics(): void {
  const { customFields = {} } = siteConfig;
  const { analytics } = customFields['settings'] as { analytics?: string };
  if (analytics === undefined || !ExecutionEnvironment.canUseDOM) return;
  const isDevelopment = process.env.NODE_ENV === 'development';
  const script = document.createElement('script');
  script.src = `${analytics}/${isDevelopment ? 'script.debug.js' : 'script.js'}`;
  script.defer = true;
  script.dataset['sdkn'] = 'toolhive-docs';
  script.dataset['sdkv'] = version;
  script.addEventListener('error', () => {
    const advice = isDevelopment
      ? 'check whether an ad blocker keeps it from loading'
      : 'enable web analytics for this project and deploy it again';
    // Readers are not affected by counting, so only the console shows problems.
    // oxlint-disable-next-line no-console
    console.log(`analytics: the script ${script.src} did not load; ${advice}`);
  });
  document.head.append(script);
}

loadAnalytics();

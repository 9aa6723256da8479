import ExecutionEnvironment from '@docusaurus/ExecutionEnvironment';
import siteConfig from '@generated/docusaurus.config';

/** Which version of the counting script's interface this page speaks. */
const version = '1.5.0';

/**
 * Loads the script that counts page views, when one was configured: from this site itself, so that no third party
 * learns of readers. A development server asks for the one that only says what it would count.
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
    // Counting is none of the reader's business: nothing but the console hears of it.
    // oxlint-disable-next-line no-console
    console.log(`analytics: the script ${script.src} did not load; ${advice}`);
  });
  document.head.append(script);
}

loadAnalytics();

/**
 * The first script on every page. It starts the framework in several short tasks, because one long task would delay the
 * first paint and the response to input on a phone.
 */
const parts = [
  () => import(/* webpackMode: "eager" */ 'react-dom/client'),
  () => import(/* webpackMode: "eager" */ '@docusaurus/core/lib/client/App'),
  () => import(/* webpackMode: "eager" */ '@docusaurus/core/lib/client/clientEntry'), // asks for the page, and takes it over
];

async function start(): Promise<void> {
  for (const run of parts) {
    await run();
    await new Promise((resolve) => {
      setTimeout(resolve);
    });
  }
}

void start();

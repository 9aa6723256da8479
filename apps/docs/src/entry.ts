/**
 * What runs first on every page: the framework, in several short tasks. At once it would keep a phone from answering its
 * reader, and from painting, for as long as all of them take together.
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

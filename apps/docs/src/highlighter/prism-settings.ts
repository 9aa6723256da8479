// Prism looks for this when it is loaded: it is not to highlight the page by itself, nor to answer as a worker.
Object.assign(globalThis, { Prism: { manual: true, disableWorkerMessageHandler: true } });

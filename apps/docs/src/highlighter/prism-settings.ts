// Prism reads these settings when it is loaded: no automatic highlighting, and no worker.
Object.assign(globalThis, { Prism: { manual: true, disableWorkerMessageHandler: true } });

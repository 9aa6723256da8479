import { answerSourceRequest } from '@toolhive/operator/source-process';

// The operator starts this program as a process.
await answerSourceRequest();

import { answerSourceRequest } from '@toolhive/operator/source-thread';

// The operator starts this program as a thread.
await answerSourceRequest();

// A server that is as fast as a process can be.
import { serveEcho } from './echo-lines.ts';

serveEcho();

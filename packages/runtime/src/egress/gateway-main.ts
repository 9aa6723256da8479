// The program of the process in which the egress gateways run.
import { serveGateways } from './gateway-program.ts';

serveGateways();

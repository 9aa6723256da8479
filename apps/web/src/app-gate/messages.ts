/** The first message of the gate to the web UI. */
export interface Announcement {
  /** The secret that the daemon told both. */
  proof: string;
  /** Whether the browser keeps an app from all connections, WebRTC included. */
  isConfined: boolean;
}

/** The first message of the web UI to the gate, with a port for all others. */
export interface Opening {
  html: string;
  /** The title of the frame of the app. */
  title: string;
}

/** A message of the gate over the port. Those to the app are JSON text. */
export type FromGate =
  { kind: 'message'; text: string } | { kind: 'stopped'; reason: 'too-many' | 'too-long' };

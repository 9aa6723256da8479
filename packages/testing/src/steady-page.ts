interface Going {
  goto: (address: string, options?: object) => Promise<unknown>;
}

/**
 * Lets a page go to an address once more if the browser ended its requests because a network of this machine has changed.
 * Other tests start containers, whose networks come and go.
 */
export function steady<P extends Going>(page: P): P {
  const go = page.goto.bind(page) as P['goto'];
  const goAgain: Going['goto'] = (address, options) =>
    go(address, options).catch((error: unknown) => {
      if (error instanceof Error && error.message.includes('ERR_NETWORK_CHANGED'))
        return go(address, options);
      throw error;
    });
  return Object.assign(page, { goto: goAgain });
}

import { contextNames } from '@toolhive/kubernetes/config';

/** The contexts of the user's kubeconfig files. Throws if the files cannot be read. */
export async function contexts(): Promise<{ word: string }[]> {
  return (await contextNames()).map((word) => ({ word }));
}

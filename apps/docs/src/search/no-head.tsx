/** Stands in for the head that the search bar adds to every page: a connection to a host that embedded search never asks. */
// The module that it replaces has a default export.
export default function NoHead(): null {
  return null;
}

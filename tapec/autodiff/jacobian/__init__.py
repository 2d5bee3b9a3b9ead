"""Write Jacobians and Hessians as graphs."""

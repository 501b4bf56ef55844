// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

/// Answers like the registry of delegate.xyz, version 2, for delegations without rights.
contract Registry {
    mapping(bytes32 => uint256) private given;

    function key(bytes32 kind, address to, address from, address target, uint256 id) private pure returns (bytes32) {
        return keccak256(abi.encode(kind, to, from, target, id));
    }

    function delegateAll(address to, bytes32, bool enable) external {
        given[key("all", to, msg.sender, address(0), 0)] = enable ? 1 : 0;
    }

    function delegateContract(address to, address target, bytes32, bool enable) external {
        given[key("contract", to, msg.sender, target, 0)] = enable ? 1 : 0;
    }

    function delegateERC721(address to, address target, uint256 id, bytes32, bool enable) external {
        given[key("erc721", to, msg.sender, target, id)] = enable ? 1 : 0;
    }

    function delegateERC20(address to, address target, bytes32, uint256 amount) external {
        given[key("erc20", to, msg.sender, target, 0)] = amount;
    }

    function delegateERC1155(address to, address target, uint256 id, bytes32, uint256 amount) external {
        given[key("erc1155", to, msg.sender, target, id)] = amount;
    }

    function checkDelegateForAll(address to, address from, bytes32 rights) public view returns (bool) {
        return rights == 0 && given[key("all", to, from, address(0), 0)] == 1;
    }

    function checkDelegateForContract(address to, address from, address target, bytes32 rights)
        public
        view
        returns (bool)
    {
        return checkDelegateForAll(to, from, rights) || given[key("contract", to, from, target, 0)] == 1;
    }

    function checkDelegateForERC721(address to, address from, address target, uint256 id, bytes32 rights)
        external
        view
        returns (bool)
    {
        return checkDelegateForContract(to, from, target, rights) || given[key("erc721", to, from, target, id)] == 1;
    }

    function checkDelegateForERC20(address to, address from, address target, bytes32 rights)
        external
        view
        returns (uint256)
    {
        if (checkDelegateForContract(to, from, target, rights)) return type(uint256).max;
        return given[key("erc20", to, from, target, 0)];
    }

    function checkDelegateForERC1155(address to, address from, address target, uint256 id, bytes32 rights)
        external
        view
        returns (uint256)
    {
        if (checkDelegateForContract(to, from, target, rights)) return type(uint256).max;
        return given[key("erc1155", to, from, target, id)];
    }
}
